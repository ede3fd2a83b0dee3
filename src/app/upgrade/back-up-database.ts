import { join } from 'node:path';
import { copyDatabase } from '../../store/index.ts';
import { CommandError } from '../cli/command.ts';
import { stopSignals } from '../cli/stop-signals.ts';
import type { Config } from '../config/config-variables.ts';

/**
 * Backs up as `taskgate backup create` does where BACKUP_TO says where to; else copies the SQLite
 * database beside itself. A gateway may be running. Says what was made, in words.
 *
 * @throws `CommandError` or `AppError` when there is no backup
 */
export async function backUpDatabase(config: Config, version: string): Promise<string> {
  const hasPlace = config.backupTo.kind !== 'folder' || config.backupTo.path !== '';
  if (hasPlace) {
    const [{ runBackup }, { configuredSeal }] = await Promise.all([
      import('../backup/run-backup.ts'),
      import('../backup/seal-secrets.ts'),
    ]);
    const seal = await configuredSeal(config);
    const made = await runBackup({ config, to: undefined, trigger: 'manual', seal, signal: stopSignals() });
    if (!made) throw new CommandError('another backup is running: try again when it is done');
    return `backup ${made.manifest.id}`;
  }
  if (config.databaseUrl !== '') {
    throw new CommandError('BACKUP_TO is not set: set it, or back PostgreSQL up and upgrade with --no-backup');
  }
  const target = join(config.dataDir, `taskgate.db.before-${version}`);
  copyDatabase(config.dataDir, target);
  return target;
}
