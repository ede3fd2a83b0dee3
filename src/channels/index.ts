/**
 * Owns: channels (accounts at vendors), their sealed credentials, and which of them serves a model.
 * May touch: the store's channels. Never touches: plugins' code, HTTP, money.
 *
 * Start with `channels.ts`; `pick-account.ts` chooses. `capacity/` decides how many tasks an
 * account runs:
 *
 * - `pools`: accounts that share the vendor's limit; `declared-limits`: the strictest of those set.
 * - `pool-states`: what the store and this node know of a pool: ceiling, refusals, rest.
 * - `running-slots`: tasks that run now, and when the next may start by `max_per_minute`;
 *   `relay-slots`: relayed requests that run; `lock-slots`: both counted under a lock where several
 *   nodes could begin the last one.
 * - `free-slots`: what may start now by all of it, as far as this node knows.
 * - `learned-ceiling`: how many tasks a vendor is believed to run; `weigh-refusals`: what lowers
 *   it; `unanswered-tasks`: what runs at vendors that answer with the result; `vendor-queue`: how
 *   many tasks a vendor gets that queues by itself.
 * - How long the slot of an abandoned task stays taken: `tasks/state/finish-task.ts`.
 * - `rests`: how long something rests after a refusal; `account-watches`: whether a vendor is down.
 */

export { RELAY_TYPE } from '../store/ports/index.ts';
export { createCapacity } from './capacity/capacity.ts';
export { credentialPool } from './capacity/declared-limits.ts';
export { heldSlots } from './capacity/pools.ts';
export type {
  Capacity,
  CapacityService,
  CapacityView,
  Dispatch,
  LockedSlots,
  Refusal,
  RefusalKind,
  RestEvent,
  RestView,
  Scope,
  Start,
} from './capacity/types.ts';
export { type ChannelNetwork, openNetwork, type ShownNetwork, sealHeaders, sealProxy } from './channel-network.ts';
export { type ChannelChange, type Channels, createChannels, type SavedChannel } from './channels.ts';
export {
  type ChannelInput,
  type CredentialInput,
  checkBaseUrl,
  checkKey,
  checkMapping,
  checkName,
  checkNames,
  findApiAddress,
  MAX_SCRIPT_BYTES,
  mapModel,
  type PluginLookup,
  TASK_PLUGIN_TYPE,
} from './check-channel.ts';
export { type CredentialChange, type CredentialService, MAX_CREDENTIALS, shortenKey } from './credentials.ts';
export { channelErrors, isUnreadableKey } from './errors.ts';
export { offers, type PickRequest, serves, type VendorAccount } from './pick-account.ts';
