import { isObject, isoTime, parseJson } from '../../kernel/index.ts';
import { storeErrors } from '../drivers/errors.ts';
import type { OptionStore } from '../ports/index.ts';

/** Among the options, and none of the catalogue. */
export const MOVE_NOTE = 'database.move';

/**
 * A database that was moved away must never serve again, nor one that has a part of another.
 * @throws `store.moved`
 */
export async function requireNotMoved(options: Pick<OptionStore, 'get'>): Promise<void> {
  const text = await options.get(MOVE_NOTE);
  if (text === undefined) return;
  const note = parseJson(text);
  const at = isObject(note) ? isoTime(Number(note.at) * 1000).slice(0, 16) : '';
  throw storeErrors.moved({
    message:
      isObject(note) && note.state === 'gone'
        ? `This database was moved into another one at ${at} and is closed for good: set DATABASE_URL, or --data-dir, to the new one.`
        : `A move into this database was begun at ${at} and has not ended: run "taskgate move-database" again.`,
  });
}
