import type { Clock } from '../kernel/index.ts';
import type { ChannelHealthRecord, Store } from '../store/ports/index.ts';

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
