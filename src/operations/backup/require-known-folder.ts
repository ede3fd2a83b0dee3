import { OperatorError } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { isBackupId } from './manifest.ts';
import type { BackupPlace } from './types.ts';

/** Runs that are looked through. A failed day has one row, so that is more than a year. */
const LOOKED_AT = 400;

/**
 * A folder whose disk is not mounted looks like a new one, and backups would go to the disk that
 * they are to outlive. So a folder that has held a backup of this database must still hold one.
 * @throws `OperatorError` where it holds none
 */
export async function requireKnownFolder(
  { backups }: Pick<Store, 'backups'>,
  { folder, name, objects }: Pick<BackupPlace, 'folder' | 'name' | 'objects'>,
): Promise<void> {
  if (folder === undefined) return;
  const isKnown = (await backups.latest(LOOKED_AT)).some(({ status, place }) => status === 'done' && place === name);
  if (!isKnown) return;
  if ((await objects.list('')).folders.some(isBackupId)) return;
  throw new OperatorError(
    `${name} holds none of the backups that were made there: mount its disk, or begin anew with "taskgate backup create --accept-folder"`,
  );
}
