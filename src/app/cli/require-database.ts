import { resolve } from 'node:path';
import { OperatorError } from '../../kernel/index.ts';
import { databaseVersion } from '../../store/index.ts';
import type { Config } from '../config/config-variables.ts';

/**
 * Refuses a data directory without a database. Commands that read one would otherwise create an
 * empty database there and find nothing in it.
 *
 * @throws `OperatorError` where there is no database of a gateway
 */
export async function requireDatabase(config: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<void> {
  if ((await databaseVersion(config)) > 0) return;
  throw config.databaseUrl === ''
    ? noDatabaseIn(config.dataDir)
    : new OperatorError('the database of DATABASE_URL is not one of a gateway');
}

export const noDatabaseIn = (dataDir: string): OperatorError =>
  new OperatorError(
    `there is no database in ${resolve(dataDir)}: name the gateway's data directory by --data-dir or DATA_DIR`,
  );
