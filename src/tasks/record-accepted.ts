import type { Json, JsonObject } from '../kernel/index.ts';
import { extractUsageOnComplete } from '../plugins/index.ts';
import type { TaskChange, TaskRecord } from '../store/ports/index.ts';
import { taskErrors } from './errors.ts';
import { finishTask, leaseOf } from './finish-task.ts';
import { firstPollDelayMs } from './poll-schedule.ts';
import type { Prepared } from './prepare-submission.ts';
import type { SendOutcome } from './send-submission.ts';
import { MAX_SNAPSHOT_BYTES, snapshotBytes, trimSnapshot } from './trim-data.ts';
import type { Submission, TaskDeps } from './types.ts';

/** Tries to store an accepted job: losing one loses money, so a store in trouble gets some time (the lease is renewed meanwhile). */
const STORE_TRIES = 6;
const STORE_PAUSE_MS = 500;

/** Stores what the vendor accepted: SUBMITTED with its first poll time, or at once the terminal state of `immediate`. */
export async function recordAccepted(
  deps: TaskDeps,
  submission: Submission,
  prepared: Prepared,
  task: TaskRecord,
  accepted: Extract<SendOutcome, { kind: 'accepted' }>,
): Promise<TaskRecord> {
  const { result } = accepted;
  const change: TaskChange = {
    upstreamTaskId: result.taskId,
    submitTime: deps.clock.unix(),
    data: fitting(deps, task, 'data', trimSnapshot(result.taskData ?? null)),
    state: fitting(deps, task, 'state', result.state ?? null),
  };
  const immediate = result.immediate;
  const ended = immediate?.status === 'SUCCESS' || immediate?.status === 'FAILURE';
  const facts =
    immediate?.status === 'SUCCESS' ? await immediateFacts(submission, prepared, immediate, change.data ?? null) : {};
  const stored = await persist(deps, task, result.taskId, async () => {
    if (ended) {
      const reason = immediate.reason || 'the vendor reported a failure';
      return finishTask(
        deps,
        task,
        immediate.status === 'SUCCESS' ? { status: 'SUCCESS', facts } : { status: 'FAILURE', reason },
        change,
      );
    }
    return deps.store.transaction(async (tx) => {
      const wait = firstPollDelayMs(deps.limits.pollIntervalMs);
      const running = { ...change, status: 'SUBMITTED' as const, progress: immediate?.progress ?? '10%' };
      if (!(await tx.tasks.advance(leaseOf(task), running, wait))) return false;
      await tx.tasks.addEvent({ taskId: task.taskId, at: deps.clock.unix(), kind: 'transition', status: 'SUBMITTED' });
      return true;
    });
  });
  if (!stored) throw taskErrors.submission_interrupted({ doNotRetry: true });
  const fresh = await deps.store.tasks.byTaskId(task.taskId);
  if (!fresh) throw taskErrors.submission_interrupted({ doNotRetry: true });
  return fresh;
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
      if (!stored) orphan(deps, task, 'the submit lease was lost');
      return stored;
    } catch (error) {
      if (attempt === STORE_TRIES) {
        orphan(deps, task, 'the store failed');
        throw error;
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

const orphan = (deps: TaskDeps, task: TaskRecord, why: string): void =>
  deps.logger.error(
    { task_id: task.taskId, channel_id: task.channelId, why },
    'an upstream job was accepted but could not be recorded; it is not billed and nobody follows it',
  );

async function immediateFacts(
  submission: Submission,
  prepared: Prepared,
  immediate: NonNullable<Extract<SendOutcome, { kind: 'accepted' }>['result']['immediate']>,
  data: Json,
): Promise<JsonObject> {
  if (prepared.quote.snapshot.expression === null || !submission.plugin.has('extractUsageOnComplete')) return {};
  const facts = await extractUsageOnComplete(submission.plugin, prepared.context, immediate, data, {
    secrets: prepared.secrets,
  });
  return facts.ok ? (facts.value ?? {}) : {};
}

function fitting(deps: TaskDeps, task: TaskRecord, what: string, value: Json): Json {
  if (snapshotBytes(value) <= MAX_SNAPSHOT_BYTES) return value;
  deps.logger.warn({ task_id: task.taskId, what }, `${what} is larger than 1 MiB and was not stored`);
  return null;
}
