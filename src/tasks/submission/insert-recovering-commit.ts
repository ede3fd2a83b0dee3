import { AppError } from '../../kernel/index.ts';
import type { TaskDeps } from '../types.ts';

/**
 * Looks for a row whose commit was not answered, 7.5 s in all: less than its lease, and what a
 * client may wait for.
 */
const LOOKS = 6;
const PAUSE_MS = 500;

/**
 * Runs the transaction that opens a row of its own. A commit whose answer was lost may have
 * happened: then `find` gives the row, and the request goes on with it. Where it is not there, or
 * cannot be looked for, the client is told that nobody knows.
 * @throws what `open` throws
 */
export async function insertRecoveringCommit<T>(
  { clock, logger }: Pick<TaskDeps, 'clock' | 'logger'>,
  id: string,
  open: () => Promise<T>,
  find: () => Promise<T | undefined>,
): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'store.outcome_unknown') throw error;
    for (let look = 1; look <= LOOKS; look += 1) {
      try {
        const found = await find();
        if (!found) break;
        logger.warn({ task_id: id }, 'the commit that opened a submission was not answered, and has happened');
        return found;
      } catch {
        await clock.sleep(PAUSE_MS * look);
      }
    }
    throw error;
  }
}
