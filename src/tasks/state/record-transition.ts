import { isoTime, newMessageId } from '../../kernel/index.ts';
import { GIVE_UP_AFTER_MS } from '../../notifications/index.ts';
import type { NewWebhook, Repositories, TaskChange, TaskRecord } from '../../store/ports/index.ts';
import { canonicalHost } from '../../upstream/index.ts';
import type { TaskNode } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';
import { hasEnded, taskNotice } from './describe-task.ts';

export type TransitionDeps = Pick<TaskDeps, 'clock' | 'webhooks'> & { node: Pick<TaskNode, 'random'> };

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
  const { callbackUrl: url, taskId, userId, apiKeyId } = task;
  if (url === null || apiKeyId === null) return;
  const after: TaskRecord = { ...task, ...change };
  const event = hasEnded(after) ? ('task.finished' as const) : ('task.updated' as const);
  const notice: NewWebhook = {
    eventId: newMessageId(node.random),
    taskId,
    userId,
    apiKeyId,
    event,
    url,
    host: canonicalHost(new URL(url)),
    payload: { type: event, timestamp: isoTime(clock.nowMs()), data: taskNotice(after) },
    createdAt: clock.unix(),
  };
  if (event === 'task.finished') await tx.webhooks.putFinish(notice, GIVE_UP_AFTER_MS);
  else await tx.webhooks.putUpdate(notice, webhooks.updateEveryMs, GIVE_UP_AFTER_MS);
}
