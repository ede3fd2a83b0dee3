import { join } from 'node:path';
import { copyDatabase } from '../../store/index.ts';
import { CommandError } from '../cli/command.ts';
import type { Config } from '../config/config-variables.ts';

/**
 * Copies the SQLite database beside itself, while a gateway may be running. Says where it is;
 * `undefined` where there is no database yet.
 *
 * @throws `CommandError` on PostgreSQL, whose back-up is a command of its own
 */
export function backUpDatabase(config: Config, version: string): string | undefined {
  if (config.databaseUrl !== '') {
    throw new CommandError('back PostgreSQL up first: taskgate backup create; then upgrade with --no-backup');
  }
  const target = join(config.dataDir, `taskgate.db.before-${version}`);
  return copyDatabase(config.dataDir, target) ? target : undefined;
}
