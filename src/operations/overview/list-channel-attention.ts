import type { CapacityService, CapacityView, Channels, VendorAccount } from '../../channels/index.ts';
import { type Clock, quoted, type Sentence, sentence } from '../../kernel/index.ts';
import type { ChannelHealth, Reports } from '../../reports/index.ts';
import { type ChannelRecord, STATUS } from '../../store/ports/index.ts';
import type { AttentionItem } from './types.ts';

/** A channel that rests for longer is reported; one whose account is refused at once. */
const REST_SECONDS = 300;
/** A key that ends within this time is reported: two weeks. */
const END_SECONDS = 14 * 86_400;

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
      unwell.push(...balanceItems(channel, { accounts: channels.accounts(channel), target }));
      unwell.push(...endItems(channels.accounts(channel), { now: clock.unix(), target }));
      if (channels.accounts(channel).every(channels.isReadable)) return unwell;
      const said = sentence('attention.channel_key_unreadable', { channel: channel.name });
      return [...unwell, { code: 'channel_key_unreadable', severity: 'error', target, ...said }];
    });
}

/** The least of what its enabled keys have left, where that is below what the channel warns of. */
function balanceItems(
  { name, settings }: ChannelRecord,
  { accounts, target }: { accounts: readonly VendorAccount[]; target: AttentionItem['target'] },
): AttentionItem[] {
  const { balance_alert_usd: alert = 0 } = settings;
  const left = accounts
    .filter(({ credential }) => credential.status === STATUS.enabled)
    .flatMap(({ credential }) => credential.balanceMicros ?? []);
  const least = Math.min(...left) / 1_000_000;
  if (typeof alert !== 'number' || !(least < alert)) return [];
  const said = sentence('attention.channel_balance_low', { channel: name, usd: least.toFixed(2) });
  return [{ code: 'channel_balance_low', severity: 'warning', target, ...said }];
}

/** Keys in use that end within two weeks, or have ended. */
const endItems = (
  accounts: readonly VendorAccount[],
  { now, target }: { now: number; target: AttentionItem['target'] },
): AttentionItem[] =>
  accounts
    .filter(({ credential: { status, expiresAt } }) => status === STATUS.enabled && expiresAt > 0)
    .filter(({ credential }) => credential.expiresAt < now + END_SECONDS)
    .map(({ channel, credential: { id, label, keyHint, expiresAt } }) => {
      const params = {
        channel: channel.name,
        key: label || keyHint || `${id}`,
        date: new Date(expiresAt * 1000).toISOString().slice(0, 10),
      };
      return {
        code: 'channel_key_ends',
        severity: 'warning',
        target,
        ...sentence('attention.channel_key_ends', params),
      };
    });

/** Rests that somebody has to end, or that are long. */
function restItems(
  { restReason, restingUntil }: CapacityView,
  { now, name, target }: { now: number; name: string; target: AttentionItem['target'] },
): AttentionItem[] {
  const params = { channel: name };
  if (restReason === 'credential') {
    const said = sentence('attention.channel_key_refused', params);
    return [{ code: 'channel_key_refused', severity: 'error', target, ...said }];
  }
  if (restReason === 'balance') {
    const said = sentence('attention.channel_balance_empty', params);
    return [{ code: 'channel_balance_empty', severity: 'error', target, ...said }];
  }
  if (restReason === '' || restingUntil - now < REST_SECONDS) return [];
  return [{ code: 'channel_resting', severity: 'warning', target, ...sentence('attention.channel_resting', params) }];
}

/** Lists what follows from a channel's health, which `read-channel-health.ts` decides. */
function failingChannelItems(health: ChannelHealth, name: string, target: AttentionItem['target']): AttentionItem[] {
  const { state } = health;
  if (state !== 'failing' && state !== 'degraded') return [];
  const said = describeFailures(health, name);
  return state === 'failing'
    ? [{ code: 'channel_failing', severity: 'error', target, ...said }]
    : [{ code: 'channel_degraded', severity: 'warning', target, ...said }];
}

/** Says how many tasks failed, and why the latest task and the latest test did. */
function describeFailures(health: ChannelHealth, channel: string): Sentence {
  const { failed, lastFailureReason, lastFailureSentence, lastTest } = health;
  const counts = countFailures(health, channel);
  const hasReason = failed > 0 && lastFailureReason !== '';
  const fault = { ...quoted(lastFailureReason), ...lastFailureSentence };
  const figures = hasReason ? sentence('attention.channel_latest', { figures: counts, fault }) : counts;
  if (!lastTest?.failedStep) return figures;
  const tested = { ...quoted(lastTest.message), ...lastTest.sentence };
  return sentence('attention.channel_test_failed', { figures, fault: tested });
}

function countFailures({ succeeded, failed }: ChannelHealth, channel: string): Sentence {
  const ended = succeeded + failed;
  if (ended === 0) return sentence('attention.channel_idle', { channel });
  return failed === ended
    ? sentence('attention.channel_all_failed', { channel, count: ended })
    : sentence('attention.channel_failed', { channel, failed, ended });
}
