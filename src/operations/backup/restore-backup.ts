import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError, pluralize, silentLogger, unwritable, writeSecretList } from '../../kernel/index.ts';
import {
  beginSqliteRestore,
  endSqliteRestore,
  hasMoved,
  lockDataDir,
  moveDatabase,
  removeForeignSchema,
  requireOwnSchema,
} from '../../store/index.ts';
import type { FileStore, InvalidatedState, Store } from '../../store/ports/index.ts';
import { formatSecrets, SECRETS_FILE } from '../secrets/load-secrets.ts';
import { prepareDataDir } from '../start/prepare-data-dir.ts';
import { openUnguardedFiles, RESULTS_FOLDER } from '../storage/result-files.ts';
import { sameCounts, withCheckedCopy } from './check-copy.ts';
import { renewInstallation, requireKnownLayout } from './manifest.ts';
import { listResults, openSecrets, unpackDatabase } from './read-parts.ts';
import type { BackupDeps, Manifest, Unseal } from './types.ts';

/** Secrets that the gateway takes from its environment. */
const SECRETS_ENV = 'secrets.restored.env';

export type RestoredBackup = InvalidatedState & {
  results: number;
  /** What somebody must do or know, each a sentence. */
  notes: string[];
};

const MOST_NAMED = 10;

type Opened = { session: string[]; crypto: string[] };

/**
 * Restores a backup into an empty location, so that a gateway can start on it. Interrupted, it has
 * restored nothing; the next call begins again. `unseal` undefined: without the secrets.
 * @throws `OperatorError`, or an error of the store, with the reason
 */
export async function restoreBackup(
  deps: BackupDeps,
  manifest: Manifest,
  { unseal }: { unseal: Unseal | undefined },
): Promise<RestoredBackup> {
  const { config, location } = deps;
  requireKnownLayout(manifest);
  const wanted = config.databaseUrl === '' ? 'sqlite' : 'postgres';
  if (manifest.database.kind === 'postgres' && wanted === 'sqlite') {
    throw new OperatorError(
      'the backup is of PostgreSQL, whose dumps only a server reads: set DATABASE_URL to an empty database, and run "taskgate move-database" after it',
    );
  }
  // First, so that a wrong passphrase changes nothing.
  const secrets = unseal ? await openSecrets(location, manifest, unseal) : undefined;
  if (wanted === 'sqlite') return restoreSqlite(deps, manifest, { secrets });
  if (manifest.database.kind === 'sqlite') return restoreAcross(deps, manifest, secrets);
  const { restorePostgres } = await import('./restore-postgres.ts');
  const { path: dataDir } = prepareDataDir(config.dataDir);
  const { invalidated, end, foreign, resumed } = await restorePostgres(deps, manifest, (store) =>
    invalidateState(deps, store, manifest),
  );
  const results = await restoreResults(deps, manifest, resumed);
  const notes = [...describeForeign(foreign), ...results.notes, ...noteSecrets(deps, dataDir, secrets)];
  await end();
  return { ...invalidated, ...results, notes };
}

/** In the data directory, with its id: where a SQLite backup stands until it is in PostgreSQL. */
const ACROSS_FOLDER = 'taskgate.across';

/**
 * A backup of SQLite into PostgreSQL, by way of a restored file. An interrupted one goes on; what a
 * run for another backup has left goes.
 */
async function restoreAcross(
  deps: BackupDeps,
  manifest: Manifest,
  secrets: Opened | undefined,
): Promise<RestoredBackup> {
  const { config, clock, logger } = deps;
  const { path: dataDir } = prepareDataDir(config.dataDir);
  const across = join(dataDir, `${ACROSS_FOLDER}.${manifest.id}`);
  for (const name of readdirSync(dataDir))
    if (name.startsWith(ACROSS_FOLDER) && join(dataDir, name) !== across)
      rmSync(join(dataDir, name), { recursive: true, force: true });
  const { resultsLocation: location } = config;
  const resultsLocation =
    location.kind === 'folder' && location.path === ''
      ? { ...location, path: join(dataDir, RESULTS_FOLDER) }
      : location;
  const isRestored = existsSync(join(across, 'taskgate.db'));
  const there = { ...config, databaseUrl: '', dataDir: across, resultsLocation };
  const restored: RestoredBackup = isRestored
    ? { submissions: 0, webhooks: 0, sessions: 0, results: 0, notes: ['an earlier run had restored the file'] }
    : await restoreSqlite({ ...deps, config: there }, manifest, { secrets, isScratch: true });
  const notes = [...restored.notes, ...noteSecrets(deps, dataDir, secrets)];
  const move = { from: { databaseUrl: '', dataDir: across }, to: { databaseUrl: config.databaseUrl, dataDir: '' } };
  // An earlier run may have ended before it removed the file, which is closed for good then.
  if (!isRestored || !(await hasMoved(move))) await moveDatabase({ ...move, clock, logger });
  rmSync(across, { recursive: true, force: true });
  return { ...restored, notes };
}

type SqliteRestore = {
  secrets: Opened | undefined;
  /** The file is on its way into another database: the secrets go with that. */
  isScratch?: boolean;
};

async function restoreSqlite(
  deps: BackupDeps,
  manifest: Manifest,
  { secrets, isScratch = false }: SqliteRestore,
): Promise<RestoredBackup> {
  const { path: dataDir } = prepareDataDir(deps.config.dataDir);
  const unlock = lockDataDir(dataDir);
  try {
    const { folder, resumed } = beginSqliteRestore(dataDir);
    await unpackDatabase(deps.location, manifest, join(folder, 'taskgate.db'));
    const foreign = removeForeignSchema(folder);
    const invalidated = await withCheckedCopy(deps, folder, async (store, counts) => {
      if (!sameCounts(counts, manifest.counts)) {
        throw new OperatorError(`the backup ${manifest.id} does not hold what its manifest says`);
      }
      return invalidateState(deps, store, manifest);
    });
    requireOwnSchema(folder);
    const results = await restoreResults(deps, manifest, resumed);
    const files = secrets && !isScratch ? [SECRETS_FILE] : [];
    if (secrets && !isScratch) {
      writeFileSync(join(folder, SECRETS_FILE), formatSecrets(secrets), { mode: 0o600, flush: true });
    }
    const forSecrets = isScratch ? [] : noteSecrets(deps, dataDir, secrets);
    const notes = [...describeForeign(foreign), ...results.notes, ...forSecrets];
    deps.signal.throwIfAborted();
    await endSqliteRestore(dataDir, files);
    return { ...invalidated, ...results, notes };
  } finally {
    unlock();
  }
}

/**
 * Ends what the restored database would do once more, such as sending a task again:
 * `store/repositories/gateway/invalidate-restored-state.ts` says what.
 */
async function invalidateState(
  { clock }: BackupDeps,
  store: Store,
  { id, created_at }: Manifest,
): Promise<InvalidatedState> {
  const now = clock.unix();
  const ended = await store.backups.invalidateState(now);
  await renewInstallation(store);
  await store.logs.addAudit({
    userId: null,
    username: '',
    authMethod: 'cli',
    ip: '',
    action: 'backup.restore',
    target: `backup:${id}`,
    detail: { ...ended, created_at },
    createdAt: now,
  });
  return ended;
}

async function restoreResults(
  deps: BackupDeps,
  manifest: Manifest,
  resumed: boolean,
): Promise<Pick<RestoredBackup, 'results' | 'notes'>> {
  const { config, clock, location, signal } = deps;
  const { files, close } = openUnguardedFiles(config, { clock, logger: silentLogger });
  try {
    if (!resumed && manifest.results.count > 0) await requireEmpty(files);
    let results = 0;
    let missing = 0;
    for await (const { sha256 } of listResults(location, manifest)) {
      signal.throwIfAborted();
      if (await restoreOne(deps, files, sha256)) results += 1;
      else missing += 1;
    }
    const notes =
      missing === 0
        ? []
        : [
            `${pluralize(missing, 'file of a kept result is', 'files of kept results are')} missing or damaged in the backup`,
          ];
    return { results, notes };
  } finally {
    await close();
  }
}

/** Says what acts on its own in the copy and was left out: no version of the program made it. */
const describeForeign = (foreign: readonly string[]): string[] =>
  foreign.length === 0
    ? []
    : [
        `left out, because it does not belong to taskgate: ${foreign.slice(0, MOST_NAMED).join(', ')}${foreign.length > MOST_NAMED ? ', …' : ''}`,
      ];

async function requireEmpty(files: FileStore): Promise<void> {
  if ((await files.list('', 1)).length === 0) return;
  throw new OperatorError(
    'the storage for kept results (RESULTS_URL) is not empty: give the restored gateway an empty one',
  );
}

async function restoreOne({ location, signal }: BackupDeps, files: FileStore, sha256: string): Promise<boolean> {
  if ((await files.size(sha256)) !== undefined) return true;
  const opened = await location.results.open(sha256);
  if (!opened) return false;
  const bytes = opened instanceof ReadableStream ? opened : opened.stream();
  const put = await files.put(bytes, { maxBytes: Number.POSITIVE_INFINITY, signal });
  if (!put.ok) throw new OperatorError(`a kept result could not be restored: ${put.error.message}`);
  if (put.value.sha256 === sha256) return true;
  await files.delete(put.value.sha256);
  return false;
}

/**
 * Says which secrets the gateway must be given by its environment, and writes them down. Before the
 * restore ends: then it cannot be repeated.
 */
function noteSecrets({ config }: BackupDeps, dataDir: string, secrets: Opened | undefined): string[] {
  if (!secrets) {
    return ['the secrets were not restored: everybody signs in again, and stored credentials must be entered again'];
  }
  const given = {
    SESSION_SECRET: config.sessionSecret,
    CRYPTO_SECRET: config.cryptoSecret,
    SESSION_SECRET_PREVIOUS: writeSecretList(config.sessionSecretPrevious),
    CRYPTO_SECRET_PREVIOUS: writeSecretList(config.cryptoSecretPrevious),
  };
  if (config.databaseUrl === '' && given.SESSION_SECRET === '' && given.CRYPTO_SECRET === '') return [];
  const needed = {
    SESSION_SECRET: secrets.session[0] ?? '',
    CRYPTO_SECRET: secrets.crypto[0] ?? '',
    SESSION_SECRET_PREVIOUS: writeSecretList(secrets.session.slice(1)),
    CRYPTO_SECRET_PREVIOUS: writeSecretList(secrets.crypto.slice(1)),
  };
  const names = Object.keys(needed) as (keyof typeof needed)[];
  const different = names.filter((name) => needed[name] !== given[name] && needed[name] !== '');
  if (different.length === 0) return [];
  const path = join(dataDir, SECRETS_ENV);
  const text = different.map((name) => `${name}=${needed[name]}\n`).join('');
  try {
    rmSync(path, { force: true });
    writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    throw unwritable(path, error);
  }
  return [`set ${different.join(', ')} as ${path} says before you start the gateway, then delete that file`];
}
