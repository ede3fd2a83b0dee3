import { CLOCK_LEEWAY_SECONDS, type Clock, type Logger, sleepInStep, watchClock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';

/** The only node of a database writes its heartbeat as often, so that both wake up together. */
const LOOK_EVERY_MS = 15_000;
/** After the clock was set ahead this far, nothing is removed by its age for this long. */
const FAR_MS = 3_600_000;
const HOLD_MS = 3_600_000;
/** A node that is further ahead issues sessions that others do not accept yet. */
const SHOWN_SKEW_MS = 5000;
/** How long a clock that was set back is shown. */
const SHOWN_MS = 24 * 3_600_000;

/** `byMs`: how far this clock was set ahead, or is ahead of the database's. Back is negative. */
export type ClockFault = { code: 'clock_stepped' | 'clock_differs'; byMs: number };

export type ClockCheck = {
  /** How far this clock is ahead of the database's; 0 on SQLite. */
  aheadMs(): number;
  /** What an administrator should know of this node's clock. */
  faults(): ClockFault[];
  /** Runs work that removes old rows, unless the clock may be wrong: removed rows do not return. */
  holdBack(work: { run(signal?: AbortSignal): Promise<void> }): { run(signal?: AbortSignal): Promise<void> };
  start(): void;
  stop(): Promise<void>;
};

type Deps = { store: Pick<Store, 'clock' | 'dialect'>; clock: Clock; logger: Logger };

/**
 * How far this clock is ahead of the database's. The answer takes time: the database read its clock
 * half of it ago.
 */
export async function compareClocks({ store, clock }: Pick<Deps, 'store' | 'clock'>): Promise<number> {
  const askedMs = clock.monotonicMs();
  const databaseMs = await store.clock.nowMs();
  return clock.nowMs() - databaseMs - (clock.monotonicMs() - askedMs) / 2;
}

/**
 * Watches the clock of this node by the monotonic clock, and on PostgreSQL by the database's. Says
 * once in the log when it was set, or differs.
 */
export function createClockCheck({ store, clock, logger }: Deps): ClockCheck {
  const stopping = new AbortController();
  let watching: Promise<void> = Promise.resolve();
  let latest = { byMs: 0, atMs: Number.NEGATIVE_INFINITY };
  let movedMs = 0;
  let aheadMs = 0;
  const watch = watchClock(clock, (byMs) => {
    // Several steps within the hour are one: a small one does not hide the large one before it.
    const isRecent = clock.monotonicMs() - latest.atMs < HOLD_MS;
    movedMs = isRecent ? movedMs + byMs : byMs;
    latest = { byMs, atMs: clock.monotonicMs() };
    const what =
      byMs < 0
        ? 'the clock of this machine was set back; whatever waits goes on as measured'
        : 'the clock of this machine was set ahead, or the machine was suspended; whatever it holds goes on as measured';
    logger.warn({ by_seconds: Math.round(byMs / 1000) }, what);
  });

  const isFarAhead = () => movedMs >= FAR_MS && clock.monotonicMs() - latest.atMs < HOLD_MS;
  const differs = (ms: number) => Math.abs(ms) > CLOCK_LEEWAY_SECONDS * 1000;

  async function look(): Promise<void> {
    watch.check();
    if (store.dialect === 'sqlite') return;
    const before = aheadMs;
    aheadMs = await compareClocks({ store, clock });
    if (differs(aheadMs) === differs(before)) return;
    const fields = { ahead_seconds: Math.round(aheadMs / 1000) };
    if (differs(aheadMs)) logger.warn(fields, "this node's clock differs from the database's; nothing old is removed");
    else logger.info(fields, "this node's clock agrees with the database's again");
  }

  async function watchOn(): Promise<void> {
    while (!stopping.signal.aborted) {
      await look().catch((error) => logger.debug({ err: error }, "the database's clock could not be read"));
      await sleepInStep(clock, LOOK_EVERY_MS, stopping.signal);
    }
  }

  return {
    aheadMs: () => aheadMs,
    faults() {
      const isShown = latest.byMs < 0 ? clock.monotonicMs() - latest.atMs < SHOWN_MS : isFarAhead();
      return [
        ...(isShown ? [{ code: 'clock_stepped' as const, byMs: latest.byMs }] : []),
        ...(Math.abs(aheadMs) > SHOWN_SKEW_MS ? [{ code: 'clock_differs' as const, byMs: aheadMs }] : []),
      ];
    },
    holdBack: (work) => ({
      async run(signal) {
        await look();
        if (!isFarAhead() && !differs(aheadMs)) await work.run(signal);
      },
    }),
    start() {
      watching = watchOn();
    },
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}
