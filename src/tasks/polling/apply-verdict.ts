import { isDeepStrictEqual } from 'node:util';
import type { TaskChange, TaskRecord, TaskStatus } from '../../store/ports/index.ts';
import { finishTask, leaseOf } from '../state/finish-task.ts';
import { recordTransition } from '../state/record-transition.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { TaskDeps } from '../types.ts';
import { nextPollDelayMs } from '../vendor/poll-schedule.ts';
import type { WritePolled } from './batch-poll-writes.ts';
import type { Snapshot, Verdict } from './poll-vendor.ts';

const ORDER: Record<TaskStatus, number> = {
  NOT_START: 0,
  SUBMITTED: 1,
  QUEUED: 2,
  IN_PROGRESS: 3,
  SUCCESS: 4,
  FAILURE: 4,
};
/** Progress where the plugin names none (as in new-api). */
export const DEFAULT_PROGRESS: Record<string, string> = { SUBMITTED: '10%', QUEUED: '20%', IN_PROGRESS: '30%' };

/**
 * So much longer than its age limit a task waits for a vendor who could not be asked for our own
 * reasons.
 */
const FINAL_GRACE_MS = 10 * 60_000;

/**
 * Writes what an answer means, under the claim that asked for it. `final`: the task is past its age
 * limit and ends now unless the answer was terminal itself, or the vendor could not be asked and
 * the task is not long past it.
 */
export async function applyVerdict(
  deps: TaskDeps,
  write: WritePolled,
  task: TaskRecord,
  verdict: Verdict,
  final: boolean,
): Promise<void> {
  const polls = task.polls + 1;
  traceEvent(deps.logger, 'poll_result', undefined, describeVerdict(task, verdict));
  switch (verdict.kind) {
    case 'succeeded':
      await finishTask(
        deps,
        task,
        { status: 'SUCCESS', usageTrouble: verdict.usageTrouble },
        { ...verdict.snapshot, pollFailures: 0, polls },
      );
      return;
    case 'failed': {
      const { reason, class: cls, httpStatus } = verdict;
      await finishTask(
        deps,
        task,
        { status: 'FAILURE', reason, class: cls, httpStatus },
        { ...verdict.snapshot, polls },
      );
      return;
    }
    default:
  }
  if (final && !(verdict.kind === 'uncounted' && mayBeAskedYet(deps, task))) {
    const kept = verdict.kind === 'running' ? verdict.snapshot : {};
    const reason = `task timeout (${deps.limits.taskTimeoutMinutes} minutes)`;
    await finishTask(deps, task, { status: 'FAILURE', reason }, { ...kept, polls });
    return;
  }
  if (verdict.kind === 'running') await recordProgress(deps, write, task, verdict, polls);
  else if (verdict.kind === 'counted') await countFailure(deps, write, task, verdict, polls);
  else {
    deps.logger.debug({ task_id: task.taskId, why: verdict.why }, 'a poll is put off');
    await write({ lease: leaseOf(task), change: {}, nextPollInMs: delay(deps, task, 0) });
  }
}

async function recordProgress(
  deps: TaskDeps,
  write: WritePolled,
  task: TaskRecord,
  verdict: Extract<Verdict, { kind: 'running' }>,
  polls: number,
): Promise<void> {
  // An earlier status than the stored one is a valid answer, but a task never goes back.
  const moved = ORDER[verdict.status] > ORDER[task.status];
  const status = moved ? verdict.status : task.status;
  const progress = verdict.progress || (moved ? (DEFAULT_PROGRESS[status] ?? task.progress) : task.progress);
  const now = deps.clock.unix();
  const begun = status === 'IN_PROGRESS' && task.startTime === 0 ? now : task.startTime;
  const { action, submitTime, startTime = begun, finishTime: _, ...snapshot } = verdict.snapshot;
  const account = { ...(action === undefined ? {} : { action }), ...(submitTime === undefined ? {} : { submitTime }) };
  const change: TaskChange = {
    ...newlySaid(task, snapshot),
    ...(moved ? { status } : {}),
    ...{ progress, pollFailures: 0, polls, startTime },
  };
  const wait = delay(deps, task, verdict.retryAfterMs);
  const event = moved ? { at: now, kind: 'transition' as const, status } : undefined;
  const isTold = task.callbackUrl !== null && (moved || progress !== task.progress);
  if (!isTold && Object.keys(account).length === 0)
    await write({ lease: leaseOf(task), change, nextPollInMs: wait, ...(event ? { event } : {}) });
  else {
    await deps.store.transaction(async (tx) => {
      if (!(await tx.tasks.advance(leaseOf(task), { ...change, ...account }, wait))) return;
      if (event) await tx.tasks.addEvent({ taskId: task.taskId, ...event });
      if (isTold) await recordTransition(deps, tx, task, change);
    });
  }
  deps.watchers.changed(task.taskId);
}

/** Most answers say what the one before said: such data is not written again. */
function newlySaid(task: TaskRecord, snapshot: Snapshot): Snapshot {
  const { data, ...others } = snapshot;
  return data === undefined || isDeepStrictEqual(data, task.data) ? others : snapshot;
}

async function countFailure(
  deps: TaskDeps,
  write: WritePolled,
  task: TaskRecord,
  verdict: Extract<Verdict, { kind: 'counted' }>,
  polls: number,
): Promise<void> {
  const { class: cls, httpStatus, detail } = verdict;
  const failures = task.pollFailures + 1;
  const max = deps.limits.pollMaxFailures;
  if (cls === 'auth') {
    deps.logger.warn(
      { channel_id: task.channelId, task_id: task.taskId, status: httpStatus },
      'a vendor refuses the key of a channel',
    );
  }
  if (max > 0 && failures >= max) {
    const reason = `poll failed: ${cls}${httpStatus ? ` (HTTP ${httpStatus})` : ''}: ${detail}`;
    await finishTask(
      deps,
      task,
      { status: 'FAILURE', reason, class: cls, httpStatus },
      { pollFailures: failures, polls },
    );
    return;
  }
  const wait = delay(deps, task, verdict.retryAfterMs);
  await write({
    lease: leaseOf(task),
    change: { pollFailures: failures, polls },
    event: {
      at: deps.clock.unix(),
      kind: 'poll_failure',
      status: task.status,
      class: cls,
      httpStatus,
      detail: `${failures} of ${max > 0 ? max : 'any number'}: ${detail}`,
    },
    nextPollInMs: wait,
  });
}

/** Without the vendor's and the plugin's own words, which may hold anything. */
function describeVerdict({ taskId, platform, channelId }: TaskRecord, verdict: Verdict) {
  const told = { task_id: taskId, plugin: platform, channel_id: channelId, result: verdict.kind };
  if (verdict.kind === 'running') return { ...told, status: verdict.status, progress: verdict.progress };
  if (verdict.kind === 'counted' || verdict.kind === 'failed') {
    const hook = verdict.kind === 'counted' && verdict.hook !== undefined ? { hook: verdict.hook } : {};
    return { ...told, class: verdict.class, http_status: verdict.httpStatus, ...hook };
  }
  return told;
}

function mayBeAskedYet({ clock, limits }: TaskDeps, task: TaskRecord): boolean {
  const limitMs = limits.taskTimeoutMinutes * 60_000;
  return clock.nowMs() - task.submitTime * 1000 < limitMs + FINAL_GRACE_MS;
}

const delay = (deps: TaskDeps, task: TaskRecord, retryAfterMs: number): number =>
  nextPollDelayMs(deps.clock.nowMs() - task.submitTime * 1000, deps.limits.pollIntervalMs, retryAfterMs);
