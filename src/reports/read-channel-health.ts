import type { Clock } from '../kernel/index.ts';
import type { ChannelFailures, ChannelHealthRecord, ChannelHour, Store } from '../store/ports/index.ts';
import { percentile } from './read-figures.ts';

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

/** Tasks that ended within this time count. */
const HEALTH_WINDOW_SECONDS = 86_400;
const FRESH_MS = 10_000;
/** Below this share of successes a channel is degraded. */
const GOOD_SHARE = 0.9;
/** Below this share it is failing, from this many failures on. */
const FAILING_SHARE = 0.5;
const FAILING_COUNT = 3;

export type ChannelHealth = ChannelHealthRecord & { state: 'idle' | 'good' | 'degraded' | 'failing' };
export type HealthReader = {
  (): Promise<ReadonlyMap<number, ChannelHealth>>;
  /** What is cached no longer holds: a channel was tested. */
  forget(): void;
};

/** Reads every channel's health over the last day; cached for a few seconds. */
export function createHealthReader({ store, clock }: { store: Store; clock: Clock }): HealthReader {
  let known: { until: number; health: Promise<ReadonlyMap<number, ChannelHealth>> } | undefined;

  async function read() {
    const rows = await store.figures.channelHealth(clock.unix() - HEALTH_WINDOW_SECONDS);
    return new Map(rows.map((row) => [row.channelId, { ...row, state: classifyHealth(row) }]));
  }

  const reader = () => {
    const now = clock.monotonicMs();
    if (known && known.until > now) return known.health;
    const fresh = { until: now + FRESH_MS, health: read() };
    known = fresh;
    // A failure is not cached.
    fresh.health.catch(() => {
      if (known === fresh) known = undefined;
    });
    return fresh.health;
  };
  return Object.assign(reader, {
    forget: () => {
      known = undefined;
    },
  });
}

/** The judgement of a channel, for every page and notice. A failed test counts at once. */
function classifyHealth({ succeeded, failed, lastSuccessAt, lastTest }: ChannelHealthRecord): ChannelHealth['state'] {
  if (lastTest !== undefined && lastTest.failedStep !== '' && lastTest.at > lastSuccessAt) return 'failing';
  const ended = succeeded + failed;
  if (ended === 0) return 'idle';
  if (failed >= FAILING_COUNT && succeeded < ended * FAILING_SHARE) return 'failing';
  return succeeded < ended * GOOD_SHARE ? 'degraded' : 'good';
}
