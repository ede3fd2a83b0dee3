import type { Random } from '../kernel/index.ts';
import { boundPluginKeys, type ChannelRecord, GATEWAY_TYPE, STATUS } from '../store/ports/index.ts';
import { TASK_PLUGIN_TYPE } from './check-channel.ts';

export type PickRequest = {
  pluginKey: string;
  /** Legacy channel types that the plugin declares. */
  channelTypes: readonly number[];
  /** The name that the client sent. */
  model: string;
  group: string;
  /** Channels that this request has already tried. */
  except: readonly number[];
  /** The only channel that may serve. */
  only?: number;
  /** Whether a channel has room; one without is passed over. Default: all have. */
  hasRoom?: (channel: ChannelRecord) => boolean;
};

/**
 * Picks among the channels that one of the requests may use: the highest priority, then at random
 * in proportion to weight. A weight of 0 is picked only where all weights are 0.
 */
export function pickChannel(
  channels: readonly ChannelRecord[],
  requests: readonly PickRequest[],
  random: Random,
): ChannelRecord | undefined {
  let best: ChannelRecord[] = [];
  for (const channel of channels) {
    if (!requests.some((request) => serves(channel, request) && request.hasRoom?.(channel) !== false)) continue;
    const top = best[0]?.priority ?? Number.NEGATIVE_INFINITY;
    if (channel.priority > top) best = [channel];
    else if (channel.priority === top) best.push(channel);
  }
  const total = best.reduce((sum, channel) => sum + channel.weight, 0);
  if (total === 0) return best[best.length > 1 ? random.below(best.length) : 0];
  let remaining = random.below(total);
  for (const channel of best) {
    remaining -= channel.weight;
    if (remaining < 0) return channel;
  }
  return undefined;
}

/** Whether the plugin drives the channel: bound by key, or by a type that the plugin declares. */
const isDrivenBy = (channel: ChannelRecord, pluginKey: string, channelTypes: readonly number[]): boolean =>
  channel.type === TASK_PLUGIN_TYPE || channel.type === GATEWAY_TYPE
    ? boundPluginKeys(channel).includes(pluginKey)
    : channelTypes.includes(channel.type);

/** Whether a channel may serve a request. */
export const serves = (channel: ChannelRecord, request: PickRequest): boolean =>
  channel.status === STATUS.enabled &&
  (request.only === undefined || channel.id === request.only) &&
  !request.except.includes(channel.id) &&
  isDrivenBy(channel, request.pluginKey, request.channelTypes) &&
  channel.models.includes(request.model) &&
  channel.groups.includes(request.group);
