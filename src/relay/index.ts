/**
 * Owns: calls that are passed unchanged to a vendor of the same API, and billed by what it reports.
 * May touch: tasks, vendors, channels, billing, the store. Never touches: plugins' results, HTTP
 * requests.
 */

export { relayErrors } from './errors.ts';
export { createRelay, type Relay } from './relay.ts';
export { readFlag } from './request-members.ts';
export { isRelayId, type RelayTaskPage } from './requests/follow-request.ts';
export type { ShownRelayTask } from './requests/show-request.ts';
export type { Follow, RelayAnswer, RelayCall } from './types.ts';
export { RELAY_PLUGIN_KEY } from './usage/reserve-and-bill.ts';
