import { rm, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OperatorError, sentence, silentLogger } from '../../kernel/index.ts';
import { copySqliteDatabase, LATEST_MIGRATION, openStore, sqliteBytes } from '../../store/index.ts';
import type { ResultStore } from '../../store/ports/index.ts';
import { putPart, WORK_FOLDER } from './backup-location.ts';
import { withCheckedCopy } from './check-copy.ts';
import { compressFile, decompress } from './streams.ts';
import type { BackupDeps, DumpedDatabase } from './types.ts';

const PART = 'database.sqlite.zst';
const DATABASE = 'taskgate.db';
const PAGE = 1000;
/** A copy may be a little larger than the file, for instance by the log. */
const SPACE_FACTOR = 1.1;

/**
 * Copies the database as it is at one moment, checks the copy, and stores it compressed. What was
 * stored is read again and compared.
 */
export async function dumpSqlite(deps: BackupDeps, id: string): Promise<DumpedDatabase> {
  const dataDir = resolve(deps.config.dataDir);
  const folder = join(dataDir, WORK_FOLDER, 'copy');
  const close = () => rm(folder, { recursive: true, force: true });
  await close();
  try {
    await requireSpace(dataDir);
    copySqliteDatabase({ dataDir, target: folder });
    deps.signal.throwIfAborted();
    const counts = await withCheckedCopy(deps, folder, async (_store, found) => found);
    const { stream, plain } = compressFile(join(folder, DATABASE));
    const part = await putPart(deps, `${id}/${PART}`, stream);
    const unpacked = plain();
    const stored = await deps.location.objects.open(`${id}/${PART}`);
    const read = stored && (await decompress(stored, unpacked.bytes, async () => {}));
    if (read?.packed.sha256 !== part.sha256 || read.plain.sha256 !== unpacked.sha256) {
      throw new OperatorError(sentence('backup.other_bytes'));
    }
    const database = { kind: 'sqlite' as const, migration: LATEST_MIGRATION, file: PART, ...part, unpacked };
    return { database, counts, results: listResults(deps, folder), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function requireSpace(dataDir: string): Promise<void> {
  const { bavail, bsize } = await statfs(dataDir);
  const needed = Math.ceil(sqliteBytes(dataDir) * SPACE_FACTOR);
  if (bavail * bsize >= needed) return;
  throw new OperatorError(
    sentence('backup.space', {
      ...{ folder: dataDir, needed: Math.ceil(needed / 1024 / 1024) },
      free: Math.floor((bavail * bsize) / 1024 / 1024),
    }),
  );
}

/** The kept results of the copy, which belong to its moment. */
async function* listResults({ clock }: BackupDeps, folder: string): AsyncGenerator<{ sha256: string; bytes: number }> {
  const options = { databaseUrl: '', dataDir: folder, synchronous: 'NORMAL', clock, logger: silentLogger } as const;
  const store = await openStore({ ...options, restoring: true });
  try {
    yield* neededFiles(store.results);
  } finally {
    await store.close();
  }
}

/** The files that results need, in order of their digests. */
export async function* neededFiles(
  results: Pick<ResultStore, 'files'>,
): AsyncGenerator<{ sha256: string; bytes: number }> {
  for (let after = ''; ; ) {
    const page = await results.files(after, PAGE);
    const last = page.at(-1);
    if (!last) return;
    after = last.sha256;
    for (const { sha256, bytes, refs } of page) if (refs > 0) yield { sha256, bytes };
  }
}
