/**
 * Owns: the task state machine: submission, leases, polling, the end of a task, and who observes
 * it. May touch: vendors, plugins, channels, billing, kept files, notices, the store. Never
 * touches: HTTP requests, cookies, sessions. Every task ends in `state/finish-task.ts`, nowhere
 * else.
 *
 * - `idempotency/`: repeats of a request; `run-idempotently.ts` says what is the same one.
 * - `submission/`: a request is priced, reserved and sent.
 * - `waiting/`: tasks for which no account has a slot, their queues and positions. Their order:
 *   `dispatch/choose-next-tasks.ts` between queues, `store/repositories/tasks/waiting-turns.ts`
 *   inside one. One rises after each quarter of its wait:
 *   `store/repositories/tasks/raise-waiting.ts`.
 * - `dispatch/`: waiting tasks are sent once slots are free, or fall back to another model where
 *   their clients allow it (`submission/request-options.ts`). Tasks that wait for their owner's own
 *   limit are parked: `release-parked.ts` lets them go.
 * - `polling/`: what running tasks have come to.
 * - `state/`: every transition: `open-tasks.ts` decides which tasks begin, `finish-task.ts` ends
 *   them; `batch-money-writes.ts` lets those of one moment share a transaction. What clients and
 *   presenters see of a task, with public ids alone: `describe-task.ts`; the debug lines of
 *   `DEBUG`: `trace-event.ts`.
 * - `observation/`: clients that wait for a task or stream it.
 * - `shared-features.ts`: what every living node knows; during a rolling upgrade nothing else is
 *   used.
 */

export {
  LIST_LIMITS,
  type ListedTask,
  TASK_SORTS,
  TASK_STATUSES,
  type TaskListFilter,
  type TaskSort,
} from '../store/ports/index.ts';
export { STALLED_MS } from './dispatch/dispatcher.ts';
export { taskErrors } from './errors.ts';
export { digestJson, runIdempotently, stillInProgress } from './idempotency/run-idempotently.ts';
export { type SubmittedTask, submitOnce } from './idempotency/submit-once.ts';
export type { TaskEvent } from './observation/follow-task.ts';
export { type Observation, observeTask } from './observation/limit-observations.ts';
export { watchTask } from './observation/watch-task.ts';
export { INTERRUPTED_EVERY_MS } from './polling/poll-engine.ts';
export { cancelTask, isCancelled } from './state/cancel-task.ts';
export { createOutcomeCounter } from './state/count-outcomes.ts';
export { deleteTask, hideTask } from './state/delete-task.ts';
export {
  type DescribedTask,
  isWaiting,
  type ShownTask,
  showRequestedModel,
  submittedObject,
  taskCost,
  taskNotice,
  taskObject,
  taskState,
  taskView,
} from './state/describe-task.ts';
export { findOwnTask, findOwnTasks, findOwnTaskToRender } from './state/find-own-tasks.ts';
export { IDEMPOTENCY_SECONDS } from './state/open-tasks.ts';
export { limitReached, listOwnerLimits, readConcurrencyLimits } from './state/owner-limits.ts';
export { toStoredFailure } from './state/stored-failure.ts';
export { traceEvent } from './state/trace-event.ts';
export { MAX_ATTEMPTS, skipUnreadableChannel } from './submission/attempt-channels.ts';
export { describeUnserved } from './submission/describe-unserved.ts';
export { findProtocolOwners, type ProtocolOwner } from './submission/find-protocol-owner.ts';
export { forbidUnsafeRetry, type SubmissionState } from './submission/forbid-unsafe-retry.ts';
export { insertRecoveringCommit } from './submission/insert-recovering-commit.ts';
export { createRefusalLog } from './submission/note-attempts.ts';
export { prepareSubmission } from './submission/prepare-submission.ts';
export { readFields, readModel, requestedModel } from './submission/read-request.ts';
export { STORE_ATTEMPTS, STORE_PAUSE_MS, SUBMIT_LEASE_MS } from './submission/renew-lease.ts';
export { mayStore, UNSTORED_SECONDS } from './submission/request-options.ts';
export { resolveOriginTasks } from './submission/resolve-origin-tasks.ts';
export { submitTask } from './submission/submit-task.ts';
export { createUnrecordedJobs, type JobNotes, type UnrecordedJobs } from './submission/unrecorded-jobs.ts';
export { readLengthAndSize } from './submission/video-fields.ts';
export type { TaskNode, WaitingRules } from './task-node.ts';
export { createTaskNode, createTasks, type TaskDetail, type Tasks } from './tasks.ts';
export type {
  BodyDigests,
  Caller,
  ClientRequest,
  DecodedRequest,
  Idempotency,
  Submission,
  TaskDeps,
  TaskLimits,
  TaskMeter,
  TaskTelemetry,
  TaskTracer,
} from './types.ts';
export type { ListedWaitingTask, QueueClass, QueuePosition } from './waiting/queue-positions.ts';
