import { type CleanUpStep, createFairLimiter } from '../kernel/index.ts';
import type {
  LedgerEntryRecord,
  TaskEventRecord,
  TaskListStore,
  TaskRecord,
  TaskSummary,
} from '../store/ports/index.ts';
import { createDispatcher, type Dispatcher } from './dispatch/dispatcher.ts';
import { taskErrors } from './errors.ts';
import { createRepeatLimit } from './idempotency/run-idempotently.ts';
import { followTask, type TaskEvent } from './observation/follow-task.ts';
import { createObservationLimit } from './observation/limit-observations.ts';
import { awaitChange, createTaskWatchers } from './observation/watch-task.ts';
import { createCallbackFollower } from './polling/follow-callbacks.ts';
import { createPollEngine, type PollEngine } from './polling/poll-engine.ts';
import { createSharedFeatures } from './shared-features.ts';
import { batchMoneyWrites } from './state/batch-money-writes.ts';
import { cancelTask } from './state/cancel-task.ts';
import { deleteTask } from './state/delete-task.ts';
import {
  findOwnTask,
  findOwnTaskSummary,
  pageTasks,
  type TaskPage,
  type TaskPageRequest,
} from './state/find-own-tasks.ts';
import { createTransitionWriter } from './state/record-transition.ts';
import { createSourceKeeper, deleteUnusedSources } from './submission/keep-source.ts';
import { createLeaseRenewal } from './submission/renew-lease.ts';
import type { TaskNode } from './task-node.ts';
import type { Caller, TaskDeps } from './types.ts';
import { createModelDurations } from './waiting/estimate-start.ts';
import { createQueuePositions, type QueuePositions } from './waiting/queue-positions.ts';
import { createWaitingCounts } from './waiting/waiting-counts.ts';

/** A submission that picked a credential before its removal has stored its task by then. */
const REMOVED_KEPT_SECONDS = 3600;

/**
 * Submissions that are prepared concurrently, and by one user beside others. With more, more of
 * them share a commit; with a smaller share, a new one waits less. SQLite has one writer,
 * PostgreSQL as many as the pool has connections. Work that takes longer than a database does, such
 * as a slow plugin, continues without its slot.
 */
const SUBMISSION_SLOTS = { sqlite: { slots: 16, share: 2 }, postgres: { slots: 16, share: 8 } } as const;
const SUBMISSION_HOLD_MS = 100;

type NodeDeps = Pick<TaskDeps, 'store' | 'clock' | 'logger' | 'webhooks' | 'billing' | 'limits'>;
type NodeOptions = Pick<TaskNode, 'id' | 'random' | 'canStore' | 'wakeResults' | 'capacity'> &
  Pick<TaskNode['writes'], 'unrecorded'> & {
    /** Called after this process has written a task, with the task before it. */
    onWritten: (task: Pick<TaskRecord, 'taskId' | 'callbackUrl'>) => void;
  };

/** Creates what the tasks of this process share. */
export function createTaskNode(deps: NodeDeps, { onWritten, unrecorded, ...node }: NodeOptions): TaskNode {
  const { store, clock, limits } = deps;
  const watchers = createTaskWatchers({ ...deps, ...limits, random: node.random });
  return {
    ...node,
    watchers: {
      ...watchers,
      changed(task) {
        watchers.changed(task);
        onWritten(task);
      },
    },
    limiters: {
      submissions: createFairLimiter({ ...SUBMISSION_SLOTS[store.dialect], holdMs: SUBMISSION_HOLD_MS, clock }),
      observations: createObservationLimit(limits.observations),
      repeats: createRepeatLimit(),
    },
    writes: {
      money: batchMoneyWrites({ ...deps, capacity: node.capacity, mostHeld: limits.mostHeld }),
      accepted: createTransitionWriter({ ...deps, node }),
      sources: createSourceKeeper(),
      unrecorded,
    },
    waiting: { counts: createWaitingCounts(), durations: createModelDurations(deps) },
    leases: createLeaseRenewal(deps),
    features: createSharedFeatures(store),
  };
}

export type TaskDetail = { task: TaskRecord; events: TaskEventRecord[]; ledger: LedgerEntryRecord[] };

export type Tasks = {
  /**
   * Expires the leases of an earlier process of the same SQLite database, ends interrupted
   * submissions, and polls running tasks unless `poll` is false.
   */
  start(options?: { poll?: boolean }): Promise<void>;
  /** Stops polling and releases the leases. */
  stop(graceMs: number): Promise<void>;
  /** Call after this process has written a task. */
  taskWritten(): void;
  /** A vendor says that a task has changed. False: the address is not the task's. */
  vendorCalled(taskId: string, token: string): boolean;
  stats(): ReturnType<PollEngine['stats']> & ReturnType<Dispatcher['stats']>;
  queueDepth(): Promise<{ unfinished: number; due: number; latestLatenessMs: number }>;
  /** The caller's own task. @throws tasks.task_not_found, also for another user's task */
  own(userId: number, taskId: string): Promise<TaskRecord>;
  /** The task once its status has changed, or after `ms`. @throws tasks.rate_limit_exceeded */
  awaitChange(caller: Caller, task: TaskRecord, wait: { ms: number; left: AbortSignal }): Promise<TaskRecord>;
  /** Reads it for its status alone. @throws tasks.task_not_found */
  ownSummary(userId: number, taskId: string): Promise<TaskSummary>;
  /**
   * `GET /v1/tasks/:id/events`, until the client has `left`. `anyTask`: other users' tasks too.
   * @throws tasks.task_not_found, tasks.rate_limit_exceeded when too many are being observed
   */
  follow(
    caller: Pick<Caller, 'user' | 'key'> & { anyTask?: boolean },
    input: { taskId: string; left: AbortSignal; requestId: string },
  ): Promise<AsyncIterableIterator<TaskEvent, undefined>>;
  /**
   * Cancels the caller's own task and returns it ended.
   * @throws tasks.task_not_found, tasks.task_finished, tasks.cancel_unsupported
   */
  cancel(userId: number, taskId: string): Promise<TaskRecord>;
  /**
   * Hides the user's own task from them and removes its content; cancels it first where it runs.
   * Returns it as it was.
   * @throws tasks.task_not_found, tasks.cancel_unsupported
   */
  delete(userId: number, taskId: string): Promise<TaskRecord>;
  /** A page of the user's own tasks, for API clients. @throws tasks.page_not_found */
  page(userId: number, request: TaskPageRequest): Promise<TaskPage>;
  /** Ends all waiting clients, now and from now on: the gateway is stopping. */
  endObservations(): void;
  /** Where tasks stand that wait. */
  readonly queue: QueuePositions;
  /** Tasks by any filter, at a bounded cost. */
  readonly lists: TaskListStore;
  /** `userId`: the task's required owner; null: any user. @throws tasks.task_not_found */
  detail(taskId: string, userId: number | null): Promise<TaskDetail>;
  /** The rows of this room that the hourly clean-up deletes. */
  readonly cleanUpSteps: readonly CleanUpStep[];
};

/** The state machine of tasks: it polls them to their end, and shows their owners how they are. */
export function createTasks(deps: TaskDeps): Tasks {
  const { store, clock, logger } = deps;
  const engine = createPollEngine(deps);
  const dispatcher = createDispatcher(deps);
  const queue = createQueuePositions(deps);
  const follow = createCallbackFollower({ store, clock, logger, wake: () => engine.wake() });

  async function requireOwn(userId: number, taskId: string): Promise<TaskRecord> {
    const task = await findOwnTask(deps, userId, taskId);
    if (!task) throw taskErrors.task_not_found();
    return task;
  }

  async function readDetail(taskId: string, userId: number | null): Promise<TaskDetail> {
    const task = await store.tasks.byTaskId(taskId);
    if (!task || (userId !== null && (task.userId !== userId || task.hiddenAt !== 0)))
      throw taskErrors.task_not_found();
    const [events, ledger] = await Promise.all([store.tasks.events(taskId), store.ledger.byTask(taskId)]);
    return { task, events, ledger };
  }

  return {
    async start({ poll = true } = {}) {
      if (store.dialect === 'sqlite') {
        const freed = await store.tasks.expireAllLeases();
        if (freed > 0) logger.info({ tasks: freed }, 'expired the leases of an earlier process');
      }
      engine.start({ poll });
      await dispatcher.start();
    },
    async stop(graceMs) {
      await Promise.all([dispatcher.stop(graceMs), engine.stop(graceMs)]);
    },
    taskWritten: () => engine.taskWritten(),
    vendorCalled(taskId, token) {
      const isGenuine = deps.vendors.callbacks.isGenuine(taskId, token);
      if (isGenuine) follow(taskId);
      return isGenuine;
    },
    stats: () => ({ ...engine.stats(), ...dispatcher.stats() }),
    queueDepth: () => store.tasks.queueDepth(),
    own: requireOwn,
    awaitChange: ({ user, key }, task, wait) =>
      awaitChange(deps, { ...wait, task, observer: { userId: user.id, keyId: key?.id ?? null } }),
    async ownSummary(userId, taskId) {
      const task = await findOwnTaskSummary(deps, userId, taskId);
      if (!task) throw taskErrors.task_not_found();
      return task;
    },
    async follow({ user, key, anyTask = false }, { taskId, left, requestId }) {
      const task = anyTask ? (await readDetail(taskId, null)).task : await requireOwn(user.id, taskId);
      // The observation counts for the observer, not for the task's owner.
      const observed = { ...task, userId: user.id };
      return followTask({ ...deps, queue }, { task: observed, keyId: key?.id ?? null, left, requestId });
    },
    cancel: async (userId, taskId) => cancelTask(deps, await requireOwn(userId, taskId)),
    delete: (userId, taskId) => deleteTask(deps, userId, taskId),
    page: (userId, request) => pageTasks(deps, userId, request),
    endObservations: () => deps.node.watchers.close(),
    queue,
    lists: store.tasks,
    detail: readDetail,
    cleanUpSteps: [
      { step: 'files of tasks that waited', deleteBatch: (limit) => store.results.releaseAbandoned(limit) },
      { step: 'turns of tasks that waited', deleteBatch: (limit) => store.waiting.sweep(limit) },
      { step: 'idempotency keys', deleteBatch: (limit) => store.idempotency.deleteExpired(clock.unix(), limit) },
      { step: 'plugin sources', deleteBatch: (limit) => deleteUnusedSources(deps, limit) },
      {
        step: 'removed credentials',
        deleteBatch: () => store.credentials.deleteUnused(clock.unix() - REMOVED_KEPT_SECONDS),
      },
    ],
  };
}
