import { type CleanUpStep, type Clock, type Logger, sleepInStep } from '../../kernel/index.ts';
import { SAMPLE_SECONDS, type Store } from '../../store/ports/index.ts';
import type { Tasks } from '../../tasks/index.ts';

/** How long samples are kept: some 4,000 rows for each node. */
const SAMPLES_KEPT_SECONDS = 14 * 86_400;

type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  nodeId: string;
  tasks: Pick<Tasks, 'stats' | 'queueDepth'>;
  /** The longest that the event loop was held since the last call, in milliseconds. */
  takeMaxLag: () => number;
};

/**
 * Writes every five minutes what this node did and, where no other node has yet, what all share:
 * two short rows, whatever happens in between.
 */
export function startSampling(deps: Deps): { stop(): Promise<void> } {
  const { clock, logger } = deps;
  const stopping = new AbortController();
  const sample = createSampler(deps);
  const sampling = (async () => {
    while (true) {
      const untilNext = SAMPLE_SECONDS * 1000 - (clock.nowMs() % (SAMPLE_SECONDS * 1000));
      await sleepInStep(clock, untilNext, stopping.signal);
      if (stopping.signal.aborted) return;
      await sample().catch((error) =>
        logger.warn(
          { err: error },
          'a sample of the figures over time could not be written; the next one is due in five minutes',
        ),
      );
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await sampling;
    },
  };
}

/** Returns a function that writes the sample of the five minutes that end about now. */
export function createSampler({ store, clock, nodeId, tasks, takeMaxLag }: Omit<Deps, 'logger'>): () => Promise<void> {
  let polled = tasks.stats().polls;
  return async () => {
    // The nearest boundary: timers may fire a little early, or late.
    const start = Math.round(clock.unix() / SAMPLE_SECONDS - 1) * SAMPLE_SECONDS;
    const { polls } = tasks.stats();
    await store.samples.addNode({ nodeId, start, polls: polls - polled, lagMs: Math.round(takeMaxLag()) });
    polled = polls;
    if (!(await store.samples.isMissing(start))) return;
    const [queue, { bytes }] = await Promise.all([tasks.queueDepth(), store.figures.databaseSize()]);
    await store.samples.addGateway({
      start,
      unfinished: queue.unfinished,
      due: queue.due,
      latenessMs: Math.max(0, Math.round(queue.latestLatenessMs)),
      databaseBytes: bytes,
    });
  };
}

export const sampleCleanUp = ({ store, clock }: Pick<Deps, 'store' | 'clock'>): CleanUpStep => ({
  step: 'samples of the system',
  deleteBatch: () => store.samples.deleteOld(clock.unix() - SAMPLES_KEPT_SECONDS),
});
