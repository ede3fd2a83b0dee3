import type { Clock } from '../../kernel/index.ts';
import type { ModelDuration, Store, WaitingTask, WaitingTotal } from '../../store/ports/index.ts';
import type { ModelDurations } from '../task-node.ts';
import { keepFresh } from './keep-fresh.ts';

/** With fewer known durations of its model, no start is estimated. */
const FEWEST_TASKS = 5;
/** Durations are of tasks that ended within an hour, of the latest of them. */
const FROM_SECONDS = 3600;
const FROM_TASKS = 5000;
const FRESH_MS = 30_000;

export function createModelDurations({ store, clock }: { store: Store; clock: Clock }): ModelDurations {
  const read = keepFresh(clock, FRESH_MS, async () =>
    (await store.queueView.durations(clock.unix() - FROM_SECONDS, FROM_TASKS)).filter(
      ({ tasks }) => tasks >= FEWEST_TASKS,
    ),
  );
  return { all: () => read('') };
}

type Waiting = {
  task: Pick<WaitingTask, 'notBefore' | 'parked'>;
  /** Undefined: it is not exact. */
  position: number | undefined;
  queue: (Pick<WaitingTotal, 'plugin' | 'model'> & { running: number }) | undefined;
};

/**
 * Estimates when a waiting task starts, in Unix seconds; null: nothing tells. A slot becomes free
 * every (mean duration / slots in use) seconds: they are all in use.
 */
export function estimateStart(
  { task, position, queue }: Waiting,
  durations: readonly ModelDuration[],
  now: number,
): number | null {
  if (task.parked || position === undefined || queue === undefined || queue.running === 0) return null;
  const duration = durations.find(({ plugin, model }) => plugin === queue.plugin && model === queue.model);
  if (duration === undefined) return null;
  return Math.max(task.notBefore, now + Math.ceil((position * duration.meanSeconds) / queue.running));
}
