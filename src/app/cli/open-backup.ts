import { existsSync } from 'node:fs';
import { silentLogger, systemClock } from '../../kernel/index.ts';
import { findBackup } from '../backup/list-backups.ts';
import { openBackupPlace } from '../backup/open-place.ts';
import type { BackupDeps, Manifest } from '../backup/types.ts';
import { CommandError, type CommandInput, option } from './command.ts';
import { readSettings } from './read-settings.ts';
import { stopSignals } from './stop-signals.ts';

/**
 * Runs `work` with the place of `--from` or BACKUP_TO; a signal to stop aborts `signal`.
 *
 * @throws `CommandError` where the place is a folder that is not there: a wrong name is not a place
 * without backups
 */
export async function withBackupPlace<T>(input: CommandInput, work: (deps: BackupDeps) => Promise<T>): Promise<T> {
  // On the day of a restore the secrets may be in the backup alone.
  const { config } = readSettings(input, { needsSecrets: false });
  const base = { config, clock: systemClock, logger: silentLogger };
  const place = openBackupPlace(base, option(input, 'from'));
  try {
    if (place.folder !== undefined && !existsSync(place.folder)) {
      throw new CommandError(`there is no folder ${place.folder}: --from and BACKUP_TO say where backups are`);
    }
    return await work({ ...base, place, signal: stopSignals() });
  } finally {
    await place.close();
  }
}

/** The backup that `--id` names, or the newest. */
export const chosenBackup = (input: CommandInput, { place }: BackupDeps): Promise<Manifest> =>
  findBackup(place, option(input, 'id'));
