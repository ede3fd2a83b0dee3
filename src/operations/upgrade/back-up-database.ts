import { join } from 'node:path';
import { OperatorError } from '../../kernel/index.ts';
import { copyDatabase } from '../../store/index.ts';
import type { BackupConfig } from '../backup/types.ts';

/** `version`: of this program. `next`: of the one that is to be installed. */
type Request = { config: BackupConfig; version: string; next: string; signal: AbortSignal };

/** What was made, in words. `warnings`: what is missing in it, such as the secrets. */
type MadeCopy = { copy: string; warnings: string[] };

/**
 * Backs up where BACKUP_TO says where to, without the secrets where nothing is set to encrypt them;
 * else copies the SQLite database beside itself. A gateway may be running.
 *
 * @throws `OperatorError` or `AppError` when there is no backup
 */
export async function backUpDatabase({ config, version, next, signal }: Request): Promise<MadeCopy> {
  const hasLocation = config.backupTo.kind !== 'folder' || config.backupTo.path !== '';
  if (hasLocation) {
    const [{ runBackup }, { configuredSeal }] = await Promise.all([
      import('../backup/run-backup.ts'),
      import('../backup/seal-secrets.ts'),
    ]);
    const seal = await configuredSeal(config);
    const made = await runBackup({ config, version, to: config.backupTo, trigger: 'manual', seal, signal });
    if (!made) throw new OperatorError('another backup is running: try again when it is done');
    return { copy: `backup ${made.manifest.id}`, warnings: made.warnings.map(({ message }) => message) };
  }
  if (config.databaseUrl !== '') {
    throw new OperatorError('BACKUP_TO is not set: set it, or back PostgreSQL up and upgrade with --no-backup');
  }
  const target = join(config.dataDir, `taskgate.db.before-${next}`);
  copyDatabase(config.dataDir, target);
  return { copy: target, warnings: [] };
}
