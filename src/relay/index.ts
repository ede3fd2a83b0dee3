/**
 * Owns: calls that are passed unchanged to a vendor of the same API, and billed by what it reports.
 * May touch: tasks, vendors, channels, billing, the store. Never touches: plugins' results, HTTP
 * requests.
 *
 * Start with `requests/relay-request.ts`.
 *
 * - `endpoints.ts`: what each operation takes, sends and reports.
 * - `bodies/`: the client's request is read by the list of its members, and the vendor's is built.
 * - `answers/`: what of a vendor's answer reaches the client, and whether it is one at all.
 * - `sound/`: how long a recording is.
 * - `usage/`: the reservation, the usage that is reported or counted, the bill, and refunds.
 * - `objects/`: answers that the vendor keeps, and later calls on them.
 * - `requests/`: a request from its slots to its answer, repeats and tasks of it included.
 * - `limit-owner-requests.ts`, `limit-account-requests.ts`: how many may be open.
 */

export { readFlag } from './bodies/request-members.ts';
export { relayErrors } from './errors.ts';
export { createRelay, type Relay } from './relay.ts';
export { isRelayId, type RelayTaskPage } from './requests/follow-request.ts';
export type { ShownRelayTask } from './requests/show-request.ts';
export type { Follow, RelayAnswer, RelayCall } from './types.ts';
export { RELAY_PLUGIN_KEY } from './usage/reserve-and-bill.ts';
