import { LONGEST_RESULT_TRIES_MS, type Repositories, type TaskRecord } from '../store/ports/index.ts';
import type { FileDeps } from './types.ts';

/**
 * Decides whether the results of a task that has just succeeded are copied into the storage for
 * kept results, and schedules that in the transaction that ends the task. Its artifacts are listed
 * later, since that takes its plugin; `results/copies/result-worker.ts` copies them, and
 * `sweep-files.ts` removes them when their days are over.
 */
export async function scheduleResultCopies(
  { storage, clock }: Pick<FileDeps, 'storage' | 'clock'>,
  tx: Pick<Repositories, 'results'>,
  { taskId, userId, properties }: Pick<TaskRecord, 'taskId' | 'userId' | 'properties'>,
): Promise<boolean> {
  const { keep } = storage.settings();
  const isWanted = keep === 'all' ? properties.keep !== false : keep === 'asked' && properties.keep === true;
  if (!isWanted) return false;
  const everything = { taskId, userId, artifactKey: '', kind: '', createdAt: clock.unix() };
  await tx.results.schedule([everything], LONGEST_RESULT_TRIES_MS);
  return true;
}
