import { isDeepStrictEqual } from 'node:util';
import { sentence } from '../../kernel/index.ts';
import type { TaskRecord, TaskStatus } from '../../store/ports/index.ts';
import { finishTask, toLease } from '../state/finish-task.ts';
import { DEFAULT_PROGRESS } from '../state/stored-result.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { Transition, WriteTransition } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';
import { nextPollDelayMs } from './poll-schedule.ts';
import type { AnswerChange, Verdict } from './types.ts';

const ORDER: Record<TaskStatus, number> = {
  NOT_START: 0,
  SUBMITTED: 1,
  QUEUED: 2,
  IN_PROGRESS: 3,
  SUCCESS: 4,
  FAILURE: 4,
};

/**
 * A task past its age limit is kept this much longer if its vendor could not be asked for reasons
 * of our own.
 */
const FINAL_GRACE_MS = 10 * 60_000;

type Polled<V = Verdict> = { write: WriteTransition; task: TaskRecord; verdict: V };

/**
 * Writes what a poll brought, under the lease of its claim. `final`: the task is past its age limit
 * and ends now, unless the vendor could not be asked and the task is not long past it. A terminal
 * answer counts in any case.
 */
export async function applyVerdict(
  deps: TaskDeps,
  { write, task, verdict, final }: Polled & { final: boolean },
): Promise<void> {
  const polls = task.polls + 1;
  traceEvent(deps.logger, 'poll_result', describeVerdict(task, verdict));
  if (verdict.kind === 'ended') {
    const { ending } = verdict;
    const failures = ending.status === 'SUCCESS' ? { pollFailures: 0 } : {};
    await finishTask(deps, { task, ending, change: { ...verdict.change, ...failures, polls } });
    return;
  }
  if (final && !(verdict.kind === 'postponed' && isWithinGrace(deps, task))) {
    const answered = verdict.kind === 'running' ? verdict.change : {};
    const reason = sentence('tasks.timed_out', { minutes: deps.limits.taskTimeoutMinutes });
    await finishTask(deps, {
      task,
      ending: { status: 'FAILURE', reason, mayStillRun: true },
      change: { ...answered, polls },
    });
    return;
  }
  if (verdict.kind === 'running') await recordProgress(deps, { write, task, verdict });
  else if (verdict.kind === 'poll_failed') await countFailure(deps, { write, task, verdict });
  else {
    deps.logger.debug({ task_id: task.taskId, why: verdict.why }, 'poll postponed');
    await write({ lease: toLease(task), change: {}, nextPollInMs: delay(deps, task, 0) });
  }
}

async function recordProgress(
  deps: TaskDeps,
  { write, task, verdict }: Polled<Extract<Verdict, { kind: 'running' }>>,
): Promise<void> {
  // An earlier status than the stored one is a valid answer, but a task never goes back.
  const moved = ORDER[verdict.status] > ORDER[task.status];
  const status = moved ? verdict.status : task.status;
  const progress = verdict.progress || (moved ? (DEFAULT_PROGRESS[status] ?? task.progress) : task.progress);
  const now = deps.clock.unix();
  const started = status === 'IN_PROGRESS' && task.startTime === 0 ? now : task.startTime;
  const { startTime = started, finishTime: _, ...answered } = verdict.change;
  const change: Transition['change'] = {
    ...withoutSameData(task, answered),
    ...(moved ? { status } : {}),
    progress,
    pollFailures: 0,
    polls: task.polls + 1,
    startTime,
  };
  await write({
    lease: toLease(task),
    change,
    events: moved ? [{ at: now, kind: 'transition', status }] : [],
    nextPollInMs: delay(deps, task, verdict.retryAfterMs),
    notify: moved || progress !== task.progress ? task : undefined,
  });
  deps.node.watchers.changed(task);
}

/** Most answers repeat the previous one: unchanged data is not written again. */
function withoutSameData(task: TaskRecord, change: AnswerChange): AnswerChange {
  const { data, ...others } = change;
  return data === undefined || isDeepStrictEqual(data, task.data) ? others : change;
}

async function countFailure(
  deps: TaskDeps,
  { write, task, verdict }: Polled<Extract<Verdict, { kind: 'poll_failed' }>>,
): Promise<void> {
  const { class: failureClass, httpStatus, detail } = verdict;
  const polls = task.polls + 1;
  const failures = task.pollFailures + 1;
  const max = deps.limits.pollMaxFailures;
  if (failureClass === 'auth') {
    deps.logger.warn(
      { channel_id: task.channelId, task_id: task.taskId, status: httpStatus },
      "vendor refused the channel's key; check the key",
    );
  }
  if (max > 0 && failures >= max) {
    const reason =
      httpStatus === 0
        ? sentence('tasks.polls_failed', { class: failureClass, detail })
        : sentence('tasks.polls_failed_status', { class: failureClass, status: httpStatus, detail });
    const ending = { status: 'FAILURE' as const, reason, class: failureClass, httpStatus, mayStillRun: true };
    await finishTask(deps, { task, ending, change: { pollFailures: failures, polls } });
    return;
  }
  await write({
    lease: toLease(task),
    change: { pollFailures: failures, polls },
    events: [
      {
        at: deps.clock.unix(),
        kind: 'poll_failure',
        status: task.status,
        class: failureClass,
        httpStatus,
        detail:
          max > 0
            ? sentence('tasks.poll_failure_of', { failures, most: max, detail })
            : sentence('tasks.poll_failure', { failures, detail }),
      },
    ],
    nextPollInMs: delay(deps, task, verdict.retryAfterMs),
  });
}

/** Fields for the log. The vendor's and the plugin's texts are left out: they may hold anything. */
function describeVerdict({ taskId, platform, channelId }: TaskRecord, verdict: Verdict) {
  const logFields = { task_id: taskId, plugin: platform, channel_id: channelId, result: verdict.kind };
  switch (verdict.kind) {
    case 'running':
      return { ...logFields, status: verdict.status, progress: verdict.progress };
    case 'ended':
      return verdict.ending.status === 'SUCCESS'
        ? { ...logFields, result: 'succeeded' }
        : { ...logFields, result: 'failed', class: verdict.ending.class, http_status: verdict.ending.httpStatus };
    case 'poll_failed': {
      const hook = verdict.hook === undefined ? {} : { hook: verdict.hook };
      return { ...logFields, class: verdict.class, http_status: verdict.httpStatus, ...hook };
    }
    default:
      return logFields;
  }
}

function isWithinGrace({ clock, limits }: TaskDeps, task: TaskRecord): boolean {
  const limitMs = limits.taskTimeoutMinutes * 60_000;
  return clock.nowMs() - task.submitTime * 1000 < limitMs + FINAL_GRACE_MS;
}

const delay = ({ clock, limits, node }: TaskDeps, task: TaskRecord, retryAfterMs: number): number =>
  nextPollDelayMs(
    { ageMs: clock.nowMs() - task.submitTime * 1000, intervalMs: limits.pollIntervalMs, waitMs: retryAfterMs },
    node.random,
  );
