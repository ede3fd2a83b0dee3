import { type Json, redactJsonWith, userOwner } from '../../kernel/index.ts';
import type { ParsedSubmission, ParsedTask } from '../../plugins/index.ts';
import type { TaskChange, TaskRecord, TaskStatus } from '../../store/ports/index.ts';
import { queryContext } from '../../vendors/index.ts';
import { taskErrors } from '../errors.ts';
import { firstPollDelayMs } from '../polling/poll-schedule.ts';
import { type HookCall, usageOnComplete, usageOnSubmit } from '../state/collect-usage.ts';
import { finishTask, toLease } from '../state/finish-task.ts';
import {
  DEFAULT_PROGRESS,
  MAX_SNAPSHOT_BYTES,
  snapshotBytes,
  storedResult,
  trimSnapshot,
  UNUSABLE,
  UNUSABLE_RESULT,
  vendorFailure,
} from '../state/stored-result.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { Ending, TaskDeps } from '../types.ts';
import type { PreparedSubmission } from './prepare-submission.ts';
import { STORE_ATTEMPTS, STORE_PAUSE_MS } from './renew-lease.ts';

/** `isAnswered`: the returned record becomes a client's answer. */
type AcceptedJob = { task: TaskRecord; result: ParsedSubmission; isCut: boolean; isAnswered: boolean };

/**
 * Stores the job that the vendor accepted: as SUBMITTED with its first poll time, or, when the
 * answer already contains the result (`immediate`), in its terminal state.
 */
export async function recordAccepted(
  deps: TaskDeps,
  submission: PreparedSubmission,
  { task, result, isCut, isAnswered }: AcceptedJob,
): Promise<TaskRecord> {
  const { immediate } = result;
  const isRetained = submission.retainResult !== false;
  // A client that waits for its turn reads the result from the store.
  const isStored = isRetained || task.waitingSince > 0;
  // The submission's own state comes first, the result's state is the fallback.
  const state = result.state.kind === 'keep' && immediate ? immediate.state : result.state;
  const { plugin, caller, channel, context, credential } = submission;
  const { secrets, redactCertain } = credential;
  const call = { plugin, options: { owner: userOwner(caller.user.id), alreadyAdmitted: true, secrets } };
  const taskData = result.taskData ?? null;
  const accepted: TaskChange = {
    billing: await usageOnSubmit(deps, call, { context, task, taskData }),
    upstreamTaskId: result.taskId,
    submitTime: deps.clock.unix(),
    data: withinSizeLimit(deps, task, redactJsonWith(redactCertain, trimSnapshot(taskData)) ?? null),
    state: state.kind === 'set' ? state.value : null,
  };
  if (state.kind === 'too_large') {
    deps.logger.warn({ task_id: task.taskId }, 'plugin state not stored: larger than 1 MiB');
  }
  const immediateEnd =
    immediate &&
    (await immediateEnding(deps, call, { channel, credential, task: { ...task, ...accepted }, immediate, isCut }));
  // An immediate success without an ending is polled again for its facts: clients must not see its
  // progress before the bill is known.
  const status: TaskStatus =
    immediate?.status === 'QUEUED' || immediate?.status === 'IN_PROGRESS' ? immediate.status : 'SUBMITTED';
  const progress = immediate?.status === 'SUCCESS' ? undefined : immediate?.progress;
  const started = status === 'IN_PROGRESS' ? { startTime: accepted.submitTime ?? 0 } : {};
  const running = { ...accepted, status, progress: progress ?? DEFAULT_PROGRESS[status] ?? '10%', ...started };
  const write = (): Promise<boolean> =>
    immediateEnd
      ? finishTask(deps, {
          task,
          ending: immediateEnd.ending,
          change: { ...accepted, ...immediateEnd.change, ...(isStored ? {} : { data: null, state: null }) },
          isRetained,
        })
      : deps.node.writes.accepted({
          lease: toLease(task),
          change: running,
          events: [{ at: deps.clock.unix(), kind: 'transition', status }],
          nextPollInMs: firstPollDelayMs(deps.limits.pollIntervalMs),
          notify: task,
        });
  if (!(await persist(deps, { task, upstreamTaskId: result.taskId, write }))) {
    throw taskErrors.submission_interrupted();
  }
  traceEvent(deps.logger, 'persist', {
    request_id: submission.requestId,
    task_id: task.taskId,
    status: immediateEnd?.ending.status ?? running.status,
  });
  if (!immediateEnd) {
    deps.node.watchers.changed(task);
    return { ...task, ...running };
  }
  // The job is bought and stored: failing to read it back must not look like a failed submission.
  const stored = isAnswered ? await deps.store.tasks.byTaskId(task.taskId).catch(() => undefined) : undefined;
  const recorded = stored ?? { ...task, ...accepted, status: immediateEnd.ending.status };
  // The client's answer is made of it; nothing else has it.
  return isStored ? recorded : { ...recorded, data: accepted.data ?? null };
}

type ImmediateJob = Pick<PreparedSubmission, 'channel' | 'credential'> &
  Pick<AcceptedJob, 'task' | 'isCut'> & { immediate: ParsedTask };

/**
 * The ending of a job whose result came with the vendor's first answer. Undefined while it runs,
 * and when this gateway failed to collect its usage facts: the bill is final, so a poll asks for
 * them again.
 */
async function immediateEnding(
  deps: TaskDeps,
  call: HookCall,
  { channel, credential, task, immediate, isCut }: ImmediateJob,
): Promise<{ ending: Ending; change: TaskChange } | undefined> {
  const { status } = immediate;
  if (status !== 'SUCCESS' && status !== 'FAILURE') return undefined;
  const context = queryContext(task, { plugin: call.plugin, channel, credential });
  const usage = await usageOnComplete(deps, call, { context, task, result: immediate, body: task.data });
  const { billing, trouble } = usage;
  if (status === 'SUCCESS' && trouble?.host) return undefined;
  const change = billing ? { billing } : {};
  if (status === 'FAILURE') return { ending: { status, reason: vendorFailure(immediate.reason) }, change };
  const result = storedResult(call.plugin, immediate, { secrets: credential.certainSecrets, isCut });
  if (result === UNUSABLE) return { ending: { status: 'FAILURE', reason: UNUSABLE_RESULT }, change };
  return { ending: { status, usageTrouble: trouble?.said, result }, change };
}

type Persistence = { task: TaskRecord; upstreamTaskId: string; write: () => Promise<boolean> };

/** False: the lease was lost in the meantime, so recovery has already refunded the task. */
async function persist(deps: TaskDeps, { task, upstreamTaskId, write }: Persistence): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const stored = (await write()) || (attempt > 1 && (await isRecorded(deps, task, upstreamTaskId)));
      if (!stored) {
        keepOrphan(deps, { task, upstreamTaskId, why: 'the submit lease was lost' });
      }
      return stored;
    } catch (error) {
      if (attempt === STORE_ATTEMPTS) {
        keepOrphan(deps, { task, upstreamTaskId, why: 'the store failed' });
        throw taskErrors.submission_unrecorded({ cause: error });
      }
      deps.logger.error({ err: error, task_id: task.taskId, attempt }, 'accepted job could not be stored; retrying');
      await deps.clock.sleep(STORE_PAUSE_MS * attempt);
    }
  }
}

/** An earlier attempt was committed although its acknowledgement was lost. */
const isRecorded = async (deps: TaskDeps, task: TaskRecord, upstreamTaskId: string): Promise<boolean> =>
  (await deps.store.tasks.byTaskId(task.taskId))?.upstreamTaskId === upstreamTaskId;

function keepOrphan(
  { logger, node, clock }: TaskDeps,
  { task, upstreamTaskId, why }: { task: TaskRecord; upstreamTaskId: string; why: string },
): void {
  const { taskId, channelId } = task;
  logger.error(
    { task_id: taskId, channel_id: channelId, upstream_task_id: upstreamTaskId, why },
    'vendor accepted a job that could not be recorded; it is neither billed nor polled',
  );
  node.writes.unrecorded.add({ taskId, channelId, upstreamTaskId, at: clock.unix() });
}

function withinSizeLimit(deps: TaskDeps, task: TaskRecord, data: Json): Json {
  if (snapshotBytes(data) <= MAX_SNAPSHOT_BYTES) return data;
  deps.logger.warn({ task_id: task.taskId }, 'task data not stored: larger than 1 MiB');
  return null;
}
