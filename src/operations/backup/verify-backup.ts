import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OperatorError, sentence } from '../../kernel/index.ts';
import { newVerifyFolder, removeStaleWork } from './backup-location.ts';
import { sameCounts, withCheckedCopy } from './check-copy.ts';
import { requireKnownLayout } from './manifest.ts';
import { listResults, openSecrets, requirePart, unpackDatabase } from './read-parts.ts';
import { digestStream } from './streams.ts';
import type { BackupDeps, Manifest, Unseal } from './types.ts';

export type VerifiedBackup = {
  /** Whether the secrets were opened, or only compared with the manifest. */
  secrets: 'opened' | 'compared' | 'absent';
  results: number;
};

/**
 * Reads a whole backup: every digest, the database as a database, with its ledger and counts.
 * `readResults`: the bytes of kept results too, not only their sizes.
 * @throws `OperatorError` with the first fault
 */
export async function verifyBackup(
  deps: BackupDeps,
  manifest: Manifest,
  { unseal, readResults }: { unseal: Unseal | undefined; readResults: boolean },
): Promise<VerifiedBackup> {
  requireKnownLayout(manifest);
  if (manifest.database.kind === 'sqlite') await verifySqlite(deps, manifest);
  else {
    const { verifyPostgres } = await import('./dump-postgres.ts');
    await verifyPostgres(deps, manifest);
  }
  const { location, signal } = deps;
  if (manifest.secrets) {
    if (unseal) await openSecrets(location, manifest, unseal);
    else await requirePart(location, manifest.id, manifest.secrets);
  }
  let results = 0;
  for await (const { sha256, bytes } of listResults(location, manifest)) {
    signal.throwIfAborted();
    await requireResult(deps, { sha256, bytes, readResults });
    results += 1;
  }
  if (results !== manifest.results.count)
    throw new OperatorError(sentence('backup.other_results', { id: manifest.id }));
  return { secrets: manifest.secrets ? (unseal ? 'opened' : 'compared') : 'absent', results };
}

async function verifySqlite(deps: BackupDeps, manifest: Manifest): Promise<void> {
  // A folder of its own: others may be made or verified at the same time.
  const dataDir = resolve(deps.config.dataDir);
  await removeStaleWork(dataDir, deps.clock.unix());
  const folder = newVerifyFolder(dataDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await unpackDatabase(deps.location, manifest, join(folder, 'taskgate.db'));
    await withCheckedCopy(deps, folder, async (_store, counts) => {
      if (!sameCounts(counts, manifest.counts)) {
        throw new OperatorError(sentence('backup.not_as_manifest', { id: manifest.id }));
      }
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function requireResult(
  { location }: BackupDeps,
  { sha256, bytes, readResults }: { sha256: string; bytes: number; readResults: boolean },
): Promise<void> {
  const size = await location.results.size(sha256);
  if (size === undefined)
    throw new OperatorError(sentence('backup.result_missing', { sha: sha256, place: location.name }));
  if (size !== bytes) throw new OperatorError(sentence('backup.result_size', { sha: sha256, place: location.name }));
  if (!readResults) return;
  const opened = await location.results.open(sha256);
  const stream = opened instanceof ReadableStream ? opened : opened?.stream();
  if (!stream || (await digestStream(stream)).sha256 !== sha256) {
    throw new OperatorError(sentence('backup.result_damaged', { sha: sha256, place: location.name }));
  }
}
