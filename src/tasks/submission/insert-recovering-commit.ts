import { AppError } from '../../kernel/index.ts';
import type { TaskDeps } from '../types.ts';

/**
 * Attempts to find the row after a lost commit acknowledgement; 7.5 s in all. That is shorter than
 * the row's lease, and an acceptable wait for a client.
 */
const FIND_ATTEMPTS = 6;
const PAUSE_MS = 500;

type Insertion<T> = {
  id: string;
  insert: () => Promise<T>;
  /** Reads the row, if it was inserted and nobody has changed its state since. */
  find: () => Promise<T | undefined>;
};

/**
 * Runs the transaction that inserts a request's own row. When the commit's acknowledgement is lost,
 * the row may exist: if `find` returns it, the request continues. If the row is missing or cannot
 * be read, the client gets the store's error, which says that the outcome is unknown.
 * @throws what `insert` throws
 */
export async function insertRecoveringCommit<T>(
  { clock, logger }: Pick<TaskDeps, 'clock' | 'logger'>,
  { id, insert, find }: Insertion<T>,
): Promise<T> {
  try {
    return await insert();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'store.outcome_unknown') throw error;
    for (let attempt = 1; attempt <= FIND_ATTEMPTS; attempt += 1) {
      try {
        const found = await find();
        if (!found) break;
        logger.warn({ task_id: id }, 'commit acknowledgement lost; row found, continuing');
        return found;
      } catch {
        await clock.sleep(PAUSE_MS * attempt);
      }
    }
    throw error;
  }
}
