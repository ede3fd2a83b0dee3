/**
 * Runs the retention once a day in the quiet hours, a batch at a time. A later run goes on where
 * one stopped.
 */
import { type Clock, createZoneClock, isOver, type Logger, sleepInStep } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { RetentionStep } from './retention-steps.ts';

/** After the clean-up that follows the start. */
const FIRST_RUN_MS = 5_000;
const EVERY_MS = 600_000;
/**
 * A gateway that never runs at its quiet hours does it at any hour, once it is this long overdue.
 */
const OVERDUE_SECONDS = 2 * 86_400;
/** The name of the last complete run among the stored progress. */
const RUN = 'run';
const DAY_SECONDS = 86_400;

const FIRST_BATCH = 50;
const LEAST_BATCH = 10;
/** A batch is held in memory: its rows may have a MiB each, but most have a few KiB. */
const LARGEST_BATCH = 200;
/**
 * How long a batch may take. On SQLite nothing else runs for part of this time, so it is short
 * while requests arrive, and they have the node for most of the time.
 */
const PACES = {
  idle: { batchMs: 50, rest: 0.5, leastRestMs: 5 },
  busy: { batchMs: 8, rest: 20, leastRestMs: 150 },
} as const;

/** `zone`: the time zone whose hours these are, the same on all nodes. */
export type QuietHours = { startHour: number; hours: number; zone: string };

export type RetentionDeps = {
  store: Pick<Store, 'exclusively' | 'retention'>;
  clock: Clock;
  logger: Logger;
  /** Whether requests or polls have begun within the last second. */
  isBusy: () => boolean;
  quietHours: () => QuietHours;
  /** Due at any hour. */
  urgentSteps: () => Promise<RetentionStep[]>;
  /** Due once a day at the quiet hours. */
  steps: () => Promise<RetentionStep[]>;
};

export interface Retention {
  /**
   * Runs what is due, unless another node is doing so now. A step that fails is logged and the
   * others run. Resolves when all is done, the quiet hours end, or `signal` is aborted.
   */
  run(signal?: AbortSignal): Promise<void>;
}

export function createRetention(deps: RetentionDeps): Retention {
  const { store, clock, logger, quietHours } = deps;

  async function runSteps(
    steps: readonly RetentionStep[],
    { signal, mayGoOn }: { signal: AbortSignal | undefined; mayGoOn: () => boolean },
  ): Promise<boolean> {
    let isComplete = true;
    const changed: Record<string, number> = {};
    for (const step of steps) {
      try {
        for await (const rows of inBatches(deps, step, signal)) {
          changed[step.step] = (changed[step.step] ?? 0) + rows;
          if (mayGoOn()) continue;
          isComplete = false;
          break;
        }
      } catch (error) {
        isComplete = false;
        logger.error({ err: error, step: step.step }, 'old rows could not be removed; the next run goes on');
      }
      if (signal?.aborted) isComplete = false;
      if (signal?.aborted || !mayGoOn()) break;
    }
    const removed = Object.fromEntries(Object.entries(changed).filter(([, rows]) => rows > 0));
    if (Object.keys(removed).length > 0) logger.info({ removed }, 'old rows were removed');
    return isComplete;
  }

  async function runDue(signal: AbortSignal | undefined): Promise<void> {
    await runSteps(await deps.urgentSteps(), { signal, mayGoOn: () => true });
    if (signal?.aborted) return;
    const { at } = await store.retention.progress(RUN);
    const now = clock.unix();
    const isOverdue = at > 0 && now - at > OVERDUE_SECONDS;
    const isQuiet = () => isOverdue || isQuietHour(clock.unix(), quietHours());
    // The first run of all starts the time after which one is overdue.
    if (at === 0) await store.retention.saveProgress(RUN, { position: 0, skipped: 0, at: now - DAY_SECONDS });
    // The run of a clock that was less than half a day ahead counts: it is not repeated.
    const isDone = at > 0 && !isOver(at + DAY_SECONDS / 2, { now, longest: DAY_SECONDS });
    if (!isQuiet() || isDone) return;
    if (await runSteps(await deps.steps(), { signal, mayGoOn: isQuiet }))
      await store.retention.saveProgress(RUN, { position: 0, skipped: 0, at: clock.unix() });
  }

  return {
    async run(signal) {
      await store.exclusively('retention', () => runDue(signal));
    },
  };
}

/** The rows that each batch changed. Batches are as large as the pace allows, and rests follow. */
async function* inBatches(
  { clock, isBusy }: Pick<RetentionDeps, 'clock' | 'isBusy'>,
  step: RetentionStep,
  signal: AbortSignal | undefined,
): AsyncGenerator<number> {
  let limit = FIRST_BATCH;
  while (!signal?.aborted) {
    const begun = clock.monotonicMs();
    const { walked, changed } = await step.run(limit);
    if (walked === 0) return;
    yield changed;
    const tookMs = clock.monotonicMs() - begun;
    const pace = PACES[isBusy() ? 'busy' : 'idle'];
    const fitting = Math.floor((limit * pace.batchMs) / Math.max(tookMs, 0.1));
    limit = Math.min(Math.max(Math.min(fitting, limit * 2), LEAST_BATCH), LARGEST_BATCH);
    await clock.sleep(Math.max(pace.leastRestMs, tookMs * pace.rest), signal);
  }
}

export function isQuietHour(unixSeconds: number, { startHour, hours, zone }: QuietHours): boolean {
  const hour = createZoneClock(zone).toHour(unixSeconds);
  return (hour - startHour + 24) % 24 < hours;
}

/** Looks soon after the start, and then every ten minutes, for what is due. */
export function startRetention(deps: { retention: Retention; clock: Clock; logger: Logger }): {
  stop(): Promise<void>;
} {
  const { retention, clock, logger } = deps;
  const stopping = new AbortController();
  const running = (async () => {
    await clock.sleep(FIRST_RUN_MS, stopping.signal);
    while (!stopping.signal.aborted) {
      await retention
        .run(stopping.signal)
        .catch((error) => logger.warn({ err: error }, 'old rows could not be looked for; the next run tries again'));
      await sleepInStep(clock, EVERY_MS, stopping.signal);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
