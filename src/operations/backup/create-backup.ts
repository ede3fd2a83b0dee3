import { resolve } from 'node:path';
import { type Sentence, sentence, silentLogger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { openResultFiles } from '../storage/result-files.ts';
import { putPart, removeStaleWork, toByteStream } from './backup-location.ts';
import { copyResults, keepResults } from './copy-results.ts';
import { dumpSqlite } from './dump-sqlite.ts';
import { findInstallation, MANIFEST, newBackupId, SECRETS_PART, UNFINISHED_SECONDS } from './manifest.ts';
import { writeSecrets } from './seal-secrets.ts';
import type { BackupDeps, CreatedBackup, DumpedDatabase, Manifest, NewBackup } from './types.ts';

/**
 * Makes one backup beside a running gateway: database, secrets, kept results, and last the
 * manifest. Whatever ends it earlier leaves files without a manifest, which are no backup; a later
 * clean-up removes them.
 * @throws `OperatorError`, or an error of the store, that says why there is no backup
 */
export async function createBackup(
  deps: BackupDeps & { store: Store },
  { trigger, secrets, seal }: NewBackup,
): Promise<CreatedBackup> {
  const { store, config, version, clock, signal } = deps;
  await removeStaleWork(resolve(config.dataDir), clock.unix());
  // A place that does not let go of them may still take a backup.
  await deps.place.objects.sweep(clock.unix() - UNFINISHED_SECONDS).catch(() => 0);
  const installation = await findInstallation(store);
  const id = newBackupId(clock.nowMs());
  const createdAt = clock.unix();
  const dumped = await dump(deps, id);
  const results = openResultFiles(config, { clock, logger: silentLogger, store });
  try {
    const sealed = await sealSecrets(deps, { id, secrets, seal, sha256: dumped.database.sha256 });
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
  { id, secrets, seal, sha256 }: Pick<NewBackup, 'secrets' | 'seal'> & { id: string; sha256: string },
): Promise<Manifest['secrets']> {
  if (!seal) return null;
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
