import { type Json, redactJson, userOwner } from '../../kernel/index.ts';
import type { ParsedTask } from '../../plugins/index.ts';
import type { TaskChange, TaskRecord, TaskStatus } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { DEFAULT_PROGRESS } from '../polling/apply-verdict.ts';
import { VENDOR_FAILURE } from '../polling/poll-vendor.ts';
import { type UsageCall, usageOnComplete, usageOnSubmit } from '../state/collect-usage.ts';
import { type Ending, finishTask, leaseOf, recordLateSuccess } from '../state/finish-task.ts';
import { recordTransition } from '../state/record-transition.ts';
import { traceEvent } from '../state/trace-event.ts';
import { MAX_SNAPSHOT_BYTES, snapshotBytes, trimSnapshot } from '../state/trim-data.ts';
import type { Submission, TaskDeps } from '../types.ts';
import { queryContext } from '../vendor/build-contexts.ts';
import { firstPollDelayMs } from '../vendor/poll-schedule.ts';
import type { Prepared } from './prepare-submission.ts';
import type { SendOutcome } from './send-submission.ts';

/**
 * Tries to store an accepted job, 22 s in all: losing one loses money, so a store in trouble gets
 * most of the lease's 30 s to recover.
 */
const STORE_TRIES = 10;
const STORE_PAUSE_MS = 500;

/**
 * Stores what the vendor accepted: SUBMITTED with its first poll time, or at once the terminal
 * state of `immediate`.
 */
export async function recordAccepted(
  deps: TaskDeps,
  submission: Submission,
  prepared: Prepared,
  task: TaskRecord,
  { result }: Extract<SendOutcome, { kind: 'accepted' }>,
): Promise<TaskRecord> {
  const { immediate } = result;
  // A state beside the result is the submission's own word; the result's counts where there is
  // none.
  const state = result.state.kind === 'keep' && immediate ? immediate.state : result.state;
  const { plugin, caller } = submission;
  const { secrets, certainSecrets } = prepared.credential;
  const call = { plugin, options: { owner: userOwner(caller.user.id), alreadyAdmitted: true, secrets } };
  const accepted: TaskChange = {
    billing: await usageOnSubmit(deps, call, prepared.context, task, result.taskData ?? null),
    upstreamTaskId: result.taskId,
    submitTime: deps.clock.unix(),
    data: fitting(deps, task, redactJson(trimSnapshot(result.taskData ?? null), certainSecrets) ?? null),
    state: state.kind === 'set' ? state.value : null,
  };
  if (state.kind === 'too_large') {
    deps.logger.warn({ task_id: task.taskId }, 'state is larger than 1 MiB and was not stored');
  }
  const ending = immediate && (await immediateEnding(deps, call, prepared, { ...task, ...accepted }, immediate));
  // Of a success whose facts are asked for again nothing is told before its bill is known.
  const status: TaskStatus =
    immediate?.status === 'QUEUED' || immediate?.status === 'IN_PROGRESS' ? immediate.status : 'SUBMITTED';
  const told = immediate?.status === 'SUCCESS' ? undefined : immediate?.progress;
  const begun = status === 'IN_PROGRESS' ? { startTime: accepted.submitTime ?? 0 } : {};
  const running = { ...accepted, status, progress: told ?? DEFAULT_PROGRESS[status] ?? '10%', ...begun };
  const write = (): Promise<boolean> =>
    ending
      ? finishTask(deps, task, ending.ending, { ...accepted, ...ending.change })
      : deps.store.transaction(async (tx) => {
          const wait = firstPollDelayMs(deps.limits.pollIntervalMs);
          if (!(await tx.tasks.advance(leaseOf(task), running, wait))) return false;
          const at = deps.clock.unix();
          await tx.tasks.addEvent({ taskId: task.taskId, at, kind: 'transition', status });
          await recordTransition(deps, tx, task, running);
          return true;
        });
  if (!(await persist(deps, task, result.taskId, write))) {
    throw taskErrors.submission_interrupted({ doNotRetry: true });
  }
  const persisted = { task_id: task.taskId, status: ending?.ending.status ?? running.status };
  traceEvent(deps.logger, 'persist', submission.requestId, persisted);
  if (!ending) {
    deps.watchers.changed(task.taskId);
    return { ...task, ...running };
  }
  // The job is bought and stored: trouble with reading it back must not look like a failed
  // submission.
  const stored = await deps.store.tasks.byTaskId(task.taskId).catch(() => undefined);
  return stored ?? { ...task, ...accepted, status: ending.ending.status };
}

/**
 * How a job that the vendor answered at once has ended; undefined while it runs, and where only we
 * could not find out what it used: the bill is final, so that a poll asks again.
 */
async function immediateEnding(
  deps: TaskDeps,
  call: UsageCall,
  { channel, credential }: Prepared,
  task: TaskRecord,
  immediate: ParsedTask,
): Promise<{ ending: Ending; change: TaskChange } | undefined> {
  const { status } = immediate;
  if (status !== 'SUCCESS' && status !== 'FAILURE') return undefined;
  const context = queryContext(task, channel, credential.context);
  const { billing, trouble } = await usageOnComplete(deps, call, context, task, immediate, task.data);
  if (status === 'SUCCESS' && trouble?.host) return undefined;
  const change = billing ? { billing } : {};
  return status === 'SUCCESS'
    ? { ending: { status, usageTrouble: trouble?.message }, change }
    : { ending: { status, reason: immediate.reason || VENDOR_FAILURE }, change };
}

/** False: the lease was lost meanwhile, so recovery has refunded the task already. */
async function persist(
  deps: TaskDeps,
  task: TaskRecord,
  upstreamTaskId: string,
  write: () => Promise<boolean>,
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const stored = (await write()) || (attempt > 1 && (await isRecorded(deps, task, upstreamTaskId)));
      if (!stored) {
        orphan(deps, task, upstreamTaskId, 'the submit lease was lost');
        await recordLateSuccess(deps, task.taskId, 'the vendor accepted the job');
      }
      return stored;
    } catch (error) {
      if (attempt === STORE_TRIES) {
        orphan(deps, task, upstreamTaskId, 'the store failed');
        throw taskErrors.submission_unrecorded({ cause: error, doNotRetry: true });
      }
      deps.logger.error(
        { err: error, task_id: task.taskId, attempt },
        'an accepted job could not be stored; trying again',
      );
      await deps.clock.sleep(STORE_PAUSE_MS * attempt);
    }
  }
}

/** A commit whose answer was lost has happened all the same. */
const isRecorded = async (deps: TaskDeps, task: TaskRecord, upstreamTaskId: string): Promise<boolean> =>
  (await deps.store.tasks.byTaskId(task.taskId))?.upstreamTaskId === upstreamTaskId;

const orphan = (deps: TaskDeps, task: TaskRecord, upstreamTaskId: string, why: string): void =>
  deps.logger.error(
    { task_id: task.taskId, channel_id: task.channelId, upstream_task_id: upstreamTaskId, why },
    'an upstream job was accepted but could not be recorded; it is not billed and nobody follows it',
  );

function fitting(deps: TaskDeps, task: TaskRecord, data: Json): Json {
  if (snapshotBytes(data) <= MAX_SNAPSHOT_BYTES) return data;
  deps.logger.warn({ task_id: task.taskId }, 'data is larger than 1 MiB and was not stored');
  return null;
}
