import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { AppError, OperatorError, silentLogger, systemClock } from '../../kernel/index.ts';
import { migrateStore, openStore } from '../../store/index.ts';
import { requireSharedSecrets } from '../nodes/announce-node.ts';
import {
  fingerprintSecrets,
  loadSecrets,
  refuseLostSecrets,
  SECRETS_FILE,
  type SecretsConfig,
} from '../secrets/load-secrets.ts';
import type { DatabaseConfig } from '../storage/open-store-beside-gateway.ts';
import { requireUsableDataDir } from './prepare-data-dir.ts';

type StartConfig = DatabaseConfig & SecretsConfig & { replaceLostSecrets: boolean };

/**
 * The migrations that a start would run, and what would stop it, one sentence each. Changes
 * nothing. Does not check the port: before an upgrade the former program still uses it.
 */
export async function findStartProblems(config: StartConfig): Promise<{ migrations: string[]; problems: string[] }> {
  const problems: string[] = [];
  const attempt = async <T>(check: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof AppError || error instanceof OperatorError)) throw error;
      problems.push(error.message);
      return undefined;
    }
  };

  const isLocal = config.databaseUrl === '';
  if (isLocal) await attempt(() => requireUsableDataDir(config.dataDir));
  // The start creates secrets that do not exist yet.
  const complete = config.sessionSecret !== '' && config.cryptoSecret !== '';
  const isStored = existsSync(resolve(config.dataDir, SECRETS_FILE));
  const secrets = complete || isStored ? await attempt(() => loadSecrets(config, resolve(config.dataDir))) : undefined;

  const options = {
    databaseUrl: config.databaseUrl,
    dataDir: config.dataDir,
    synchronous: config.sqliteSynchronous,
    clock: systemClock,
    logger: silentLogger,
  };
  const migrations = await attempt(() => migrateStore({ ...options, dryRun: true }));
  if (migrations?.length === 0 && (isLocal || secrets)) {
    await attempt(async () => {
      const store = await openStore({ ...options, migrate: false });
      try {
        if (isLocal) await refuseLostSecrets(config, { store, dataDir: resolve(config.dataDir) });
        else if (secrets) await requireSharedSecrets(store, fingerprintSecrets(secrets));
      } finally {
        await store.close();
      }
    });
  }
  return { migrations: migrations ?? [], problems };
}
