import type { CapacityService, CapacityView, Channels } from '../../channels/index.ts';
import type { Clock } from '../../kernel/index.ts';
import type { ChannelHealth, Reports } from '../../reports/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { AttentionItem } from './types.ts';

/** A channel that rests for longer is reported; one whose account is refused at once. */
const REST_SECONDS = 300;

/** Enabled channels that fail, rest, or whose key cannot be read. */
export async function listChannelAttention(deps: {
  channels: Channels;
  capacity: Pick<CapacityService, 'describe'>;
  reports: Reports;
  clock: Clock;
}): Promise<AttentionItem[]> {
  const { channels, capacity, reports, clock } = deps;
  const health = await reports.channelHealth();
  return channels
    .known()
    .filter(({ status }) => status === STATUS.enabled)
    .flatMap((channel): AttentionItem[] => {
      const target = { kind: 'channel' as const, id: channel.id };
      const found = health.get(channel.id);
      const unwell = [
        ...(found ? failingChannelItems(found, channel.name, target) : []),
        ...restItems(capacity.describe(channel), { now: clock.unix(), name: channel.name, target }),
      ];
      if (channels.isReadable(channel)) return unwell;
      const message = `No CRYPTO_SECRET decrypts the key of the channel "${channel.name}". Enter it again.`;
      const params = { channel: channel.name };
      return [...unwell, { code: 'channel_key_unreadable', severity: 'error', target, message, params }];
    });
}

/** Rests that somebody has to end, or that are long. */
function restItems(
  { restReason, restingUntil }: CapacityView,
  { now, name, target }: { now: number; name: string; target: AttentionItem['target'] },
): AttentionItem[] {
  const params = { channel: name };
  const nothing = `Nothing is sent to the channel "${name}" for a while:`;
  if (restReason === 'credential') {
    const message = `${nothing} the vendor refuses its key.`;
    return [{ code: 'channel_key_refused', severity: 'error', target, message, params }];
  }
  if (restReason === 'balance') {
    const message = `${nothing} the vendor says that its account is used up.`;
    return [{ code: 'channel_balance_empty', severity: 'error', target, message, params }];
  }
  if (restReason === '' || restingUntil - now < REST_SECONDS) return [];
  const message = `${nothing} the vendor refused it again and again (${restReason}).`;
  return [{ code: 'channel_resting', severity: 'warning', target, message, params }];
}

/** What a channel's health gives reason to. The tasks room alone decides it (`read-health.ts`). */
function failingChannelItems(
  { state, succeeded, failed, lastFailureReason, lastTest }: ChannelHealth,
  name: string,
  target: AttentionItem['target'],
): AttentionItem[] {
  if (state !== 'failing' && state !== 'degraded') return [];
  const counts = `Of the tasks of the channel "${name}" that ended within a day, ${failed} of ${failed + succeeded} failed.`;
  const latest = ` The latest: ${lastFailureReason || 'no reason given'}`;
  const test = lastTest?.failedStep ? ` The latest test failed: ${lastTest.message}` : '';
  const message = `${counts}${failed > 0 ? latest : ''}${test}`;
  const params = { channel: name, failed, ended: failed + succeeded };
  return state === 'failing'
    ? [{ code: 'channel_failing', severity: 'error', target, message, params }]
    : [{ code: 'channel_degraded', severity: 'warning', target, message, params }];
}
