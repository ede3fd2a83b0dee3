import { batchCalls, isoTime, newMessageId, nextTurn, ok, sha256Hex } from '../../kernel/index.ts';
import {
  hasEnded,
  isStoreLocked,
  isStoreUnavailable,
  LONGEST_WEBHOOK_TRIES_MS,
  type NewWebhook,
  type Repositories,
  type TaskChange,
  type TaskRecord,
} from '../../store/ports/index.ts';
import { canonicalHost } from '../../upstream/index.ts';
import type { TaskNode, Transition, WriteTransition } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';
import { taskNotice } from './describe-task.ts';

type TransitionDeps = Pick<TaskDeps, 'clock' | 'webhooks'> & { node: Pick<TaskNode, 'random'> };

/**
 * Writes the webhook notice of a change that clients can see. Call it in the transaction of that
 * change, after the conditional update has succeeded and before the rows of user and key are
 * locked.
 */
export async function recordTransition(
  { clock, webhooks, node }: TransitionDeps,
  tx: Repositories,
  { task, change }: { task: TaskRecord; change: TaskChange },
): Promise<void> {
  if (task.callbackUrl === null) return;
  const after: TaskRecord = { ...task, ...change };
  const event = hasEnded(after) ? 'task.finished' : 'task.updated';
  const notice = describeNotice(clock, after, { event, eventId: newMessageId(node.random) });
  if (!notice) return;
  if (event === 'task.finished') await tx.webhooks.putFinish(notice, LONGEST_WEBHOOK_TRIES_MS);
  else await tx.webhooks.putUpdate(notice, webhooks.updateEveryMs, LONGEST_WEBHOOK_TRIES_MS);
}

/**
 * Writes the webhook notice of a task that waits from this transaction on. Its id is that of the
 * task, so a task that waits again sends no second one.
 */
export async function recordQueued(
  { clock }: Pick<TransitionDeps, 'clock'>,
  tx: Pick<Repositories, 'webhooks'>,
  task: TaskRecord,
): Promise<void> {
  const eventId = `msg_${sha256Hex(`${QUEUED}\0${task.taskId}`).slice(0, 27)}`;
  const notice = describeNotice(clock, task, { event: QUEUED, eventId });
  if (notice) await tx.webhooks.putQueued(notice, LONGEST_WEBHOOK_TRIES_MS);
}

const QUEUED = 'task.queued';

/** Undefined for a task that nobody is told about. */
function describeNotice(
  clock: TaskDeps['clock'],
  task: TaskRecord,
  { event, eventId }: Pick<NewWebhook, 'event' | 'eventId'>,
): NewWebhook | undefined {
  const { callbackUrl: url, taskId, userId, apiKeyId } = task;
  if (url === null || apiKeyId === null) return undefined;
  return {
    ...{ eventId, taskId, userId, apiKeyId, event, url },
    host: canonicalHost(new URL(url)),
    payload: { type: event, timestamp: isoTime(clock.nowMs()), data: taskNotice(task) },
    createdAt: clock.unix(),
  };
}

type WriterDeps = TransitionDeps & Pick<TaskDeps, 'store'>;

const MAX_GROUP = 128;
/** Groups that wait for the database at once: one writes while another waits for the disk. */
const MAX_RUNNING = 2;

/** `gather`: how long a group waits for further transitions. */
export const createTransitionWriter = (deps: WriterDeps, gather: () => Promise<void> = nextTurn): WriteTransition =>
  batchCalls<Transition, boolean>({
    run: async (transitions) => (await writeAll(deps, transitions)).map(ok),
    maxSize: MAX_GROUP,
    maxRunning: MAX_RUNNING,
    gather,
    // One row that the database refuses must not keep the others from being written.
    divide: (error) => (isStoreLocked(error) || !isStoreUnavailable(error) ? 'by_call' : undefined),
  });

const writeAll = (deps: WriterDeps, transitions: readonly Transition[]): Promise<boolean[]> =>
  deps.store.transaction(async (tx) => {
    const written = await tx.tasks.advanceAll(transitions);
    for (const [index, { notify: task, change }] of transitions.entries())
      if (task && written[index]) await recordTransition(deps, tx, { task, change });
    return written;
  });
