import { createReadStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OperatorError, type Sentence, sentence, silentLogger, toSentence } from '../../kernel/index.ts';
import type { FileStore, Store } from '../../store/ports/index.ts';
import { openResultFiles } from '../storage/result-files.ts';
import { putPart, removeStaleWork, toByteStream, WORK_FOLDER } from './backup-location.ts';
import { dumpSqlite } from './dump-sqlite.ts';
import { findInstallation, MANIFEST, newBackupId, RESULTS_PART, SECRETS_PART, UNFINISHED_SECONDS } from './manifest.ts';
import { listResults } from './read-parts.ts';
import { writeSecrets } from './seal-secrets.ts';
import type { BackupDeps, CreatedBackup, DumpedDatabase, Manifest, NewBackup } from './types.ts';

/**
 * Makes one backup beside a running gateway: database, secrets, kept results, and last the
 * manifest. Whatever ends it earlier leaves files without a manifest, which are not a backup; a
 * later clean-up removes them. `check-copy.ts` checks the copied database, `verify-backup.ts` a
 * finished backup.
 * @throws `OperatorError`, or an error of the store, that says why there is no backup
 */
export async function createBackup(
  deps: BackupDeps & { store: Store },
  { trigger, secrets }: NewBackup,
): Promise<CreatedBackup> {
  const { store, config, version, clock, signal } = deps;
  await removeStaleWork(resolve(config.dataDir), clock.unix());
  // A location that does not let go of them may still take a backup.
  await deps.location.objects.sweep(clock.unix() - UNFINISHED_SECONDS).catch(() => 0);
  const installation = await findInstallation(store);
  const id = newBackupId(clock.nowMs());
  const createdAt = clock.unix();
  const dumped = await dump(deps, id);
  const results = openResultFiles(config, { clock, logger: silentLogger, store });
  try {
    const sealed = await sealSecrets(deps, { id, secrets, sha256: dumped.database.sha256 });
    const kept = await copyResults(deps, { id, wanted: dumped.results, from: results.files });
    await keepResults(deps, { id, results: kept, from: results.files });
    signal.throwIfAborted();
    const { users, tasks, ledgerEntries, ledgerSum } = dumped.counts;
    const manifest: Manifest = {
      format: 1,
      id,
      created_at: createdAt,
      trigger,
      version,
      installation,
      database: dumped.database,
      counts: { users, tasks, ledger_entries: ledgerEntries, ledger_sum: ledgerSum },
      secrets: sealed,
      results: kept,
    };
    await putPart(deps, `${id}/${MANIFEST}`, toByteStream(`${JSON.stringify(manifest, null, 2)}\n`));
    return { manifest, bytes: manifest.database.bytes + kept.total_bytes, warnings: listWarnings(manifest) };
  } finally {
    await results.close();
    await dumped.close();
  }
}

async function dump(deps: BackupDeps & { store: Store }, id: string): Promise<DumpedDatabase> {
  if (deps.store.dialect === 'sqlite') return dumpSqlite(deps, id);
  const { dumpPostgres } = await import('./dump-postgres.ts');
  return dumpPostgres(deps, id);
}

async function sealSecrets(
  deps: BackupDeps,
  { id, secrets, sha256 }: Pick<NewBackup, 'secrets'> & { id: string; sha256: string },
): Promise<Manifest['secrets']> {
  if (!secrets) return null;
  const { seal } = secrets;
  const sealed = await seal.encrypt(writeSecrets(secrets, { backup: id, database_sha256: sha256 }));
  const part = await putPart(deps, `${id}/${SECRETS_PART}`, toByteStream(sealed));
  return { file: SECRETS_PART, ...part, sealed_with: seal.with };
}

/** What is missing in a backup, in words. */
function listWarnings({ secrets, results }: Pick<Manifest, 'secrets' | 'results'>): Sentence[] {
  return [
    ...(secrets ? [] : [sentence('backup.no_secrets')]),
    ...(results.missing > 0
      ? [
          results.missing === 1
            ? sentence('backup.result_absent')
            : sentence('backup.results_absent', { count: results.missing }),
        ]
      : []),
  ];
}

const PAGE = 1000;

/**
 * Copies the files of kept results that the location does not have yet, and stores the list of all.
 * Both sides come in order of their digests, so they are compared as they are read. A file that is
 * gone by then is counted as missing; the clean-up may have removed it.
 */
export async function copyResults(
  deps: BackupDeps,
  { id, wanted, from }: { id: string; wanted: AsyncIterable<{ sha256: string; bytes: number }>; from: FileStore },
): Promise<Manifest['results']> {
  const { location, config, signal } = deps;
  const folder = join(resolve(config.dataDir), WORK_FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const listPath = join(folder, RESULTS_PART);
  await rm(listPath, { force: true });
  const list = await open(listPath, 'wx', 0o600);
  const figures = { count: 0, total_bytes: 0, missing: 0 };
  try {
    const there = createListCursor(location.results);
    for await (const { sha256, bytes } of wanted) {
      signal.throwIfAborted();
      if (!(await there.has(sha256)) && !(await copyOne(deps, from, sha256))) {
        figures.missing += 1;
        continue;
      }
      figures.count += 1;
      figures.total_bytes += bytes;
      await list.writeFile(`${sha256} ${bytes}\n`);
    }
    await list.close();
    const part = await putPart(deps, `${id}/${RESULTS_PART}`, createReadStream(listPath));
    return { file: RESULTS_PART, ...part, ...figures };
  } finally {
    await list.close().catch(() => undefined);
    await rm(listPath, { force: true });
  }
}

/**
 * Copies again what was removed since `copyResults` found it: another installation that uses the
 * location may have pruned its backups since. The backup has its first part in the location by now,
 * so nobody begins to prune beside it.
 * @throws `OperatorError` where a file cannot be had any more
 */
export async function keepResults(
  deps: BackupDeps,
  { id, results, from }: { id: string; results: Manifest['results']; from: FileStore },
): Promise<void> {
  const there = createListCursor(deps.location.results);
  for await (const { sha256 } of listResults(deps.location, { id, results })) {
    deps.signal.throwIfAborted();
    if ((await there.has(sha256)) || (await copyOne(deps, from, sha256))) continue;
    throw new OperatorError(sentence('backup.result_removed', { sha: sha256, place: deps.location.name }));
  }
}

/** Checks whether files are in a location; ask in ascending order of the digests. */
function createListCursor(files: FileStore) {
  let page: string[] = [];
  let after = '';
  let ended = false;
  return {
    async has(sha256: string): Promise<boolean> {
      for (;;) {
        while (page.length > 0 && (page[0] as string) < sha256) page.shift();
        if (page.length > 0) return page[0] === sha256;
        if (ended) return false;
        page = (await files.list(after, PAGE)).map((file) => file.sha256);
        after = page.at(-1) ?? after;
        ended = page.length === 0;
      }
    },
  };
}

async function copyOne({ location, signal }: BackupDeps, from: FileStore, sha256: string): Promise<boolean> {
  const opened = await from.open(sha256);
  if (!opened) return false;
  const bytes = opened instanceof ReadableStream ? opened : opened.stream();
  const put = await location.results.put(bytes, { maxBytes: Number.POSITIVE_INFINITY, signal });
  if (!put.ok) {
    const fault = toSentence(put.error);
    throw new OperatorError(sentence('backup.result_write', { place: location.name, fault }));
  }
  if (put.value.sha256 === sha256) return true;
  // Its bytes are not what its name says: the file is useless.
  await location.results.delete(put.value.sha256);
  return false;
}
