import type { Clock } from '../kernel/index.ts';
import type { ChannelFailures, ChannelHour, Store } from '../store/ports/index.ts';
import { percentile } from './percentile.ts';

const HOUR = 3600;
/** The latest failures whose reasons are counted. */
const MAX_FAILURES = 1000;
/** Reasons that are listed. */
const MAX_REASONS = 20;

export type ChannelPoint = {
  /** Unix seconds: the hour's begin. */
  at: number;
  succeeded: number;
  failed: number;
  /** From the request to success, in seconds; undefined where none is known. */
  p50Seconds: number | undefined;
  p95Seconds: number | undefined;
};
export type ChannelHistory = {
  /** One an hour, the oldest first. */
  points: ChannelPoint[];
  totals: Omit<ChannelPoint, 'at'>;
  failures: ChannelFailures[];
  /** Only the latest failures were looked at. */
  hasMoreFailures: boolean;
};
export type ChannelHistoryReader = (channelId: number, hours: number) => Promise<ChannelHistory>;

/** Reads how a channel did in the last hours, the running one included. */
export function createChannelHistoryReader(
  { store, clock }: { store: Store; clock: Clock },
  addUp: () => Promise<void>,
): ChannelHistoryReader {
  return async (channelId, hours) => {
    await addUp();
    const now = clock.unix();
    const from = now - (now % HOUR) - (hours - 1) * HOUR;
    const [ended, failures] = await Promise.all([
      store.usage.channelHours(channelId, from),
      store.usage.channelFailures(channelId, from, MAX_FAILURES),
    ]);
    const byStart = Map.groupBy(ended, ({ start }) => start);
    const looked = failures.reduce((sum, { tasks }) => sum + tasks, 0);
    return {
      points: Array.from({ length: hours }, (_, i) => {
        const at = from + i * HOUR;
        return { at, ...summarize(byStart.get(at) ?? []) };
      }),
      totals: summarize(ended),
      failures: failures.slice(0, MAX_REASONS),
      hasMoreFailures: looked >= MAX_FAILURES || failures.length > MAX_REASONS,
    };
  };
}

function summarize(hours: readonly ChannelHour[]): Omit<ChannelPoint, 'at'> {
  const count = (kind: ChannelHour['kind']): number =>
    hours.reduce((sum, hour) => sum + (hour.kind === kind ? hour.tasks : 0), 0);
  return {
    succeeded: count('settle'),
    failed: count('refund'),
    p50Seconds: percentile(hours, 0.5),
    p95Seconds: percentile(hours, 0.95),
  };
}
