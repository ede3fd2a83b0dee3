import { type Clock, createFairLimiter, type Logger } from '../kernel/index.ts';
import type { Store, TaskRecord } from '../store/ports/index.ts';
import { createRepeatLimit } from './idempotency/limit-repeats.ts';
import { createObservationLimit } from './observation/limit-observations.ts';
import { createTaskWatchers } from './observation/watch-task.ts';
import { createSourceKeeper } from './submission/keep-source.ts';
import { createLeaseRenewal } from './submission/renew-lease.ts';
import type { TaskLimits, TaskNode } from './types.ts';

/**
 * Submissions that are prepared concurrently, and by one user beside others. With more, more of
 * them share a commit; with a smaller share, a new one waits less. SQLite has one writer,
 * PostgreSQL as many as the pool has connections. Work that takes longer than a database does, such
 * as a slow plugin, continues without its slot.
 */
const SUBMISSION_SLOTS = { sqlite: { slots: 16, share: 2 }, postgres: { slots: 16, share: 8 } } as const;
const SUBMISSION_HOLD_MS = 100;

type NodeOptions = Pick<TaskNode, 'id' | 'canStore' | 'wakeResults'> & {
  store: Store;
  clock: Clock;
  logger: Logger;
  limits: TaskLimits;
  /** Called after this process has written a task, with the task before it. */
  onWritten: (task: Pick<TaskRecord, 'taskId' | 'callbackUrl'>) => void;
};

/** Creates what the tasks of this process share. */
export function createTaskNode({ onWritten, limits, id, canStore, wakeResults, ...deps }: NodeOptions): TaskNode {
  const { store, clock } = deps;
  const watchers = createTaskWatchers({ ...deps, ...limits });
  return {
    id,
    canStore,
    wakeResults,
    watchers: {
      ...watchers,
      changed(task) {
        watchers.changed(task);
        onWritten(task);
      },
    },
    observations: createObservationLimit(limits.observations),
    slots: createFairLimiter({ ...SUBMISSION_SLOTS[store.dialect], holdMs: SUBMISSION_HOLD_MS, clock }),
    leases: createLeaseRenewal(deps),
    repeats: createRepeatLimit(),
    sources: createSourceKeeper(),
  };
}
