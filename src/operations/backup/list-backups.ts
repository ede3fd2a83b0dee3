import { OperatorError } from '../../kernel/index.ts';
import { isBackupId, readManifest } from './manifest.ts';
import type { BackupLocation, Manifest } from './types.ts';

/** The backups of a place, the newest first. `unfinished`: ids without a manifest. */
export async function listBackups(place: BackupLocation): Promise<{
  backups: Manifest[];
  unfinished: string[];
  /** Ids whose manifest cannot be understood, with the reason. */
  unreadable: { id: string; reason: string }[];
}> {
  const { folders } = await place.objects.list('');
  const backups: Manifest[] = [];
  const unfinished: string[] = [];
  const unreadable: { id: string; reason: string }[] = [];
  for (const id of folders.filter(isBackupId).sort().reverse()) {
    try {
      const manifest = await readManifest(place, id);
      if (manifest) backups.push(manifest);
      else unfinished.push(id);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      unreadable.push({ id, reason: error.message });
    }
  }
  return { backups, unfinished, unreadable };
}

/**
 * The backup with this id, or the newest one.
 * @throws `OperatorError` when there is none
 */
export async function findBackup(place: BackupLocation, id: string | undefined): Promise<Manifest> {
  if (id === undefined) {
    const [newest] = (await listBackups(place)).backups;
    if (newest) return newest;
    throw new OperatorError(`there is no backup in ${place.name}`);
  }
  const manifest = await readManifest(place, id);
  if (manifest) return manifest;
  throw new OperatorError(`there is no backup ${id.slice(0, 40)} in ${place.name}, or it was not finished`);
}
