import { isoTime, sha256Hex } from '../../kernel/index.ts';
import { GIVE_UP_AFTER_MS } from '../../notifications/index.ts';
import { PREVIEW_KIND, type Repositories, type ResultRecord, type TaskRecord } from '../../store/ports/index.ts';
import { taskNotice } from '../../tasks/index.ts';
import { canonicalHost } from '../../upstream/index.ts';
import type { ResultDeps } from '../types.ts';

const EVENT = 'task.artifacts_kept';

/** The same for each notice of a task, so that the outbox takes one and receivers know another. */
const toEventId = (taskId: string): string => `msg_${sha256Hex(`${EVENT}\0${taskId}`).slice(0, 27)}`;

/**
 * Ends an attempt at a result by `write`. When that leaves none of its task's results to copy, the
 * same transaction writes the webhook notice of it, once in the life of a task.
 */
export async function settleResult<T>(
  deps: Pick<ResultDeps, 'store' | 'clock' | 'wakeWebhooks'>,
  { taskId, kind }: Pick<ResultRecord, 'taskId' | 'kind'>,
  { write, isSettled }: { write: (tx: Repositories) => Promise<T>; isSettled: (written: T) => boolean },
): Promise<T> {
  const { store } = deps;
  const task = kind === PREVIEW_KIND ? undefined : await store.tasks.byTaskId(taskId);
  if (!task || !isNotified(task)) return write(store);
  let isWritten = false;
  const written = await store.transaction(async (tx) => {
    // Two results that end at once would each see the other as not ended.
    const isShown = await tx.results.lockTask(taskId);
    const result = await write(tx);
    isWritten = isShown && isSettled(result) && (await tx.webhooks.putKept(describeKept(deps, task), GIVE_UP_AFTER_MS));
    return result;
  });
  if (isWritten) deps.wakeWebhooks();
  return written;
}

type Notified = TaskRecord & { callbackUrl: string; apiKeyId: number };
const isNotified = (task: TaskRecord): task is Notified => task.callbackUrl !== null && task.apiKeyId !== null;

function describeKept({ clock }: Pick<ResultDeps, 'clock'>, task: Notified) {
  const { callbackUrl: url, taskId, userId, apiKeyId } = task;
  return {
    eventId: toEventId(taskId),
    taskId,
    userId,
    apiKeyId,
    event: EVENT,
    url,
    host: canonicalHost(new URL(url)),
    payload: { type: EVENT, timestamp: isoTime(clock.nowMs()), data: taskNotice(task) },
    createdAt: clock.unix(),
  } as const;
}
