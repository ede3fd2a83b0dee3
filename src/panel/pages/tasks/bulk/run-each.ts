import { createIdempotencyKey, isOutcomeKnown } from '../../../api/idempotency-key.ts';
import type { TaskArtifacts, TaskSummary } from '../../../api/types.ts';
import type { Session } from '../../../session/session.ts';
import { isFinished } from '../read-task.ts';

export type BulkAction = 'again' | 'cancel' | 'delete' | 'download';

/** Longer than a vendor may take to accept a task. */
const retryTimeoutMs = 150_000;

/** Whether an action makes sense for a task; the server decides. */
export const canDo = (action: BulkAction, task: TaskSummary, userId: number | undefined): boolean => {
  if (action === 'download') return task.status === 'SUCCESS';
  if (task.user_id !== undefined && task.user_id !== userId) return false;
  if (action === 'again') return isFinished(task);
  // No vendor has it yet: plugins cannot cancel a job.
  return action === 'cancel' ? !isFinished(task) && task.submit_time === 0 : true;
};

type BulkFailure = { task: TaskSummary; error: unknown };
export type BulkProgress = { total: number; done: number; failures: readonly BulkFailure[] };

export type BulkFile = { key: string; url: string };

const readFiles = ({ artifacts, legacy_content_url: url }: TaskArtifacts): BulkFile[] =>
  artifacts.length > 0 || url === undefined
    ? artifacts.map(({ key, content_url }) => ({ key, url: content_url }))
    : [{ key: 'result', url }];

type BulkRun = {
  session: Pick<Session, 'send'>;
  action: BulkAction;
  tasks: readonly TaskSummary[];
  signal: AbortSignal;
  /** The keys of orders whose outcome is unknown: repeating such an order is charged once. */
  keys: Map<string, string>;
  onProgress(progress: BulkProgress): void;
  /** Saves a file of a task; resolves when the browser has begun. */
  save(task: TaskSummary, file: BulkFile): Promise<void>;
};

/** Sends one request after the other, and goes on after a failure. */
export async function runEach({
  session,
  action,
  tasks,
  signal,
  keys,
  onProgress,
  save,
}: BulkRun): Promise<BulkProgress> {
  let progress: BulkProgress = { total: tasks.length, done: 0, failures: [] };
  onProgress(progress);
  for (const task of tasks) {
    if (signal.aborted) break;
    try {
      await act(task);
      progress = { ...progress, done: progress.done + 1 };
    } catch (error) {
      progress = { ...progress, done: progress.done + 1, failures: [...progress.failures, { task, error }] };
    }
    onProgress(progress);
  }
  return progress;

  async function act(task: TaskSummary): Promise<void> {
    const path = `/api/task/${encodeURIComponent(task.id)}`;
    if (action === 'again') return resubmit(task, path);
    if (action === 'cancel') await session.send({ method: 'POST', path: `${path}/cancel` });
    else if (action === 'delete') await session.send({ method: 'DELETE', path });
    else {
      const found = await session.send<TaskArtifacts>({ method: 'GET', path: `${path}/artifacts` });
      for (const file of readFiles(found)) await save(task, file);
    }
  }

  async function resubmit(task: TaskSummary, path: string): Promise<void> {
    const key = keys.get(task.id) ?? createIdempotencyKey();
    keys.set(task.id, key);
    try {
      const headers = { 'idempotency-key': key };
      await session.send({ method: 'POST', path: `${path}/retry`, headers, timeoutMs: retryTimeoutMs });
      keys.delete(task.id);
    } catch (error) {
      if (error instanceof Error && isOutcomeKnown(error)) keys.delete(task.id);
      throw error;
    }
  }
}
