import type { Random } from '../kernel/index.ts';
import {
  boundPluginKeys,
  type ChannelRecord,
  type CredentialRecord,
  GATEWAY_TYPE,
  STATUS,
} from '../store/ports/index.ts';
import { TASK_PLUGIN_TYPE } from './check-channel.ts';

/** What requests to a vendor are sent with. */
export type VendorAccount = { channel: ChannelRecord; credential: CredentialRecord };

export type ServeRequest = {
  pluginKey: string;
  /** Legacy channel types that the plugin declares. */
  channelTypes: readonly number[];
  /** The name that the client sent. */
  model: string;
  group: string;
  /** The only account that may serve; without a credential, any of the channel. */
  only?: { channelId: number; credentialId: number | null } | undefined;
};

export type PickRequest = ServeRequest & {
  /** Credentials that this request has already tried. */
  except: readonly number[];
  /** Whether an account has a free slot; one without is passed over. Default: all have. */
  hasFreeSlot?: ((account: VendorAccount) => boolean) | undefined;
  /** How much an account runs: within a channel, the account that runs least serves. */
  running?: ((account: VendorAccount) => number) | undefined;
};

/**
 * Picks among the channels that one of the requests may use, where an account has a free slot: the
 * highest priority, then at random in proportion to weight, then the account that runs least. A
 * weight of 0 is picked only where all weights are 0. Where a channel does not spill, those of a
 * lower priority are left.
 */
export function pickAccount(
  candidates: readonly { channel: ChannelRecord; accounts: readonly VendorAccount[] }[],
  requests: readonly PickRequest[],
  { random, now }: { random: Random; now: number },
): VendorAccount | undefined {
  let best: { channel: ChannelRecord; free: VendorAccount[] }[] = [];
  let spillsDownTo = Number.NEGATIVE_INFINITY;
  for (const { channel, accounts } of candidates) {
    const own = requests.filter((request) => serves(channel, request));
    const usable = accounts.filter(({ credential }) => own.some((request) => mayServe(credential, request, now)));
    if (usable.length === 0) continue;
    if (!channel.spill) spillsDownTo = Math.max(spillsDownTo, channel.priority);
    const free = usable.filter((account) =>
      own.some(
        (request) =>
          mayServe(account.credential, request, now) &&
          !request.except.includes(account.credential.id) &&
          request.hasFreeSlot?.(account) !== false,
      ),
    );
    const top = best[0]?.channel.priority ?? Number.NEGATIVE_INFINITY;
    if (free.length === 0 || channel.priority < top) continue;
    if (channel.priority > top) best = [];
    best.push({ channel, free });
  }
  if ((best[0]?.channel.priority ?? spillsDownTo) < spillsDownTo) return undefined;
  const chosen = chooseByWeight(best, random);
  return chosen && chooseIdlest(chosen.free, requests[0]?.running, random);
}

function chooseByWeight<T extends { channel: ChannelRecord }>(best: readonly T[], random: Random): T | undefined {
  const total = best.reduce((sum, { channel }) => sum + channel.weight, 0);
  if (total === 0) return best[best.length > 1 ? random.below(best.length) : 0];
  let remaining = random.below(total);
  for (const each of best) {
    remaining -= each.channel.weight;
    if (remaining < 0) return each;
  }
  return undefined;
}

function chooseIdlest(
  free: readonly VendorAccount[],
  running: PickRequest['running'],
  random: Random,
): VendorAccount | undefined {
  if (free.length < 2) return free[0];
  const counts = free.map((account) => running?.(account) ?? 0);
  const least = Math.min(...counts);
  const idle = free.filter((_, index) => counts[index] === least);
  return idle[idle.length > 1 ? random.below(idle.length) : 0];
}

/** Whether a credential may begin something new for a request. */
const mayServe = ({ id, status, expiresAt }: CredentialRecord, { only }: ServeRequest, now: number): boolean =>
  status === STATUS.enabled &&
  (expiresAt === 0 || expiresAt > now) &&
  (!only || only.credentialId === null || only.credentialId === id);

/** Whether the plugin drives the channel: bound by key, or by a type that the plugin declares. */
const isDrivenBy = (channel: ChannelRecord, pluginKey: string, channelTypes: readonly number[]): boolean =>
  channel.type === TASK_PLUGIN_TYPE || channel.type === GATEWAY_TYPE
    ? boundPluginKeys(channel).includes(pluginKey)
    : channelTypes.includes(channel.type);

/** Whether a channel serves a model to some group. */
export const offers = (
  channel: ChannelRecord,
  { pluginKey, channelTypes, model }: Pick<ServeRequest, 'pluginKey' | 'channelTypes' | 'model'>,
): boolean =>
  channel.status === STATUS.enabled && isDrivenBy(channel, pluginKey, channelTypes) && channel.models.includes(model);

/** Whether a channel may serve a request. */
export const serves = (channel: ChannelRecord, request: ServeRequest): boolean =>
  (request.only === undefined || channel.id === request.only.channelId) &&
  offers(channel, request) &&
  channel.groups.includes(request.group);
