import { LONGEST_RESULT_TRIES_MS, type Repositories, type TaskRecord } from '../store/ports/index.ts';
import type { FileDeps } from './types.ts';

/** How long a result is tried to be kept: vendors drop their links earlier. */
export const KEEP_TRIES_MS = LONGEST_RESULT_TRIES_MS;

/**
 * Orders the results of a task that has just succeeded to be kept, in the transaction that ends it.
 * Its artifacts are listed later, since that takes its plugin.
 */
export async function scheduleResultCopies(
  { kept, clock }: Pick<FileDeps, 'kept' | 'clock'>,
  tx: Pick<Repositories, 'results'>,
  { taskId, userId, properties }: Pick<TaskRecord, 'taskId' | 'userId' | 'properties'>,
): Promise<boolean> {
  const { keep } = kept.settings();
  const isWanted = keep === 'all' ? properties.keep !== false : keep === 'asked' && properties.keep === true;
  if (!isWanted) return false;
  const everything = { taskId, userId, artifactKey: '', kind: '', createdAt: clock.unix() };
  await tx.results.want([everything], KEEP_TRIES_MS);
  return true;
}
