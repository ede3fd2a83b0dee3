/**
 * What the hourly clean-up deletes of stored files: rows first, then their files. A row says when
 * it expires: `keep-inputs.ts` decides for the files of requests, `results/copies` for results.
 */
import { type CleanUpStep, isOver } from '../kernel/index.ts';
import { ORPHANS_STAY, ORPHANS_STAY_SECONDS } from '../store/ports/index.ts';
import type { FileDeps } from './types.ts';

/**
 * A file that nothing needs stays this long. A copy that has just been made, and is not counted
 * yet, is far younger.
 */
const UNUSED_SECONDS = 3600;
/** Interrupted writes are removed after this time. */
const PARTIAL_SECONDS = 24 * 3600;
/** Previews deleted for one user before checking again who has the most. */
const PREVIEWS_A_BATCH = 50;
/** Files that one run compares with the rows; the next run goes on from there. */
const COMPARED_FILES = 20_000;
/**
 * Killed copies leave a few files. Where more of a page are unknown than known, the storage is
 * another database's: nothing is deleted.
 */
const MANY_UNKNOWN = 20;
/** After this many files of a batch that could not be deleted, the next run goes on. */
const MOST_REFUSED = 3;

export function storedFileCleanUpSteps(deps: FileDeps): CleanUpStep[] {
  const { store, clock, storage } = deps;
  return [
    { step: 'expired results', deleteBatch: (limit) => store.results.forgetExpired(clock.unix(), limit) },
    { step: 'results of deleted users', deleteBatch: (limit) => store.results.forgetOfDeletedUsers(limit) },
    { step: 'previews', deleteBatch: (limit) => makePreviewRoom(deps, limit) },
    { step: 'files of results', deleteBatch: (limit) => deleteUnused(deps, limit) },
    { step: 'files without results', deleteBatch: createOrphanSweep(deps) },
    { step: 'interrupted copies', deleteBatch: () => storage.files.sweep(clock.unix() - PARTIAL_SECONDS) },
  ];
}

/**
 * Leaves a tenth of the room for previews free for those of the next hour. The user with the most
 * loses their oldest first, so that nobody pushes out what others have.
 */
async function makePreviewRoom({ store, storage }: FileDeps, limit: number): Promise<number> {
  const { bytes, largestUserId } = await store.previews.usage();
  if (largestUserId === undefined || bytes <= storage.settings().previewBytes * 0.9) return 0;
  return store.previews.forgetOldest(largestUserId, Math.min(limit, PREVIEWS_A_BATCH));
}

/** A file that its place does not delete holds up no others; a place that is away refuses all. */
async function deleteUnused({ store, clock, storage, logger }: FileDeps, limit: number): Promise<number> {
  const unused = await store.results.takeUnused(clock.unix() - UNUSED_SECONDS, limit);
  let refused = 0;
  for (const sha256 of unused) {
    try {
      await deleteTaken({ store, storage }, sha256);
    } catch (error) {
      refused += 1;
      if (refused === MOST_REFUSED) throw error;
      logger.warn({ err: error, sha256 }, 'a file that nothing needs was not deleted; it is tried again in an hour');
    }
  }
  return unused.length;
}

/**
 * The row goes last: as long as it is there, no result can begin to need the file. A process that
 * dies in between leaves the row, and the next run deletes again.
 */
async function deleteTaken({ store, storage }: Pick<FileDeps, 'store' | 'storage'>, sha256: string): Promise<void> {
  await storage.files.delete(sha256);
  await store.results.deleted(sha256);
}

/**
 * Deletes files that have no row: their process died after the copy and before the commit. Goes
 * through the storage page by page, and on from there in the next run.
 */
function createOrphanSweep({ store, clock, storage, logger }: FileDeps): CleanUpStep['deleteBatch'] {
  let after = '';
  return async (limit) => {
    // A database that never kept anything was given the storage of another.
    if ((await store.results.files('', 1)).length === 0) return 0;
    const stayUntil = Number((await store.options.get(ORPHANS_STAY)) ?? 0);
    if (!isOver(stayUntil, { now: clock.unix(), longest: ORPHANS_STAY_SECONDS })) return 0;
    for (let compared = 0; compared < COMPARED_FILES; ) {
      const page = await storage.files.list(after, limit);
      const last = page.at(-1)?.sha256;
      if (last === undefined) {
        after = '';
        return 0;
      }
      after = last;
      compared += page.length;
      const known = new Set(await store.results.knownFiles(page.map(({ sha256 }) => sha256)));
      const old = clock.unix() - UNUSED_SECONDS;
      const orphans = page.filter(({ sha256, changedAt }) => !known.has(sha256) && changedAt <= old);
      if (orphans.length > Math.max(MANY_UNKNOWN, known.size)) {
        logger.error(
          { files: orphans.length, known: known.size },
          'the result storage has files that do not belong to this database: does another gateway use it? Nothing was deleted',
        );
        after = '';
        return 0;
      }
      let deleted = 0;
      for (const { sha256 } of orphans) {
        if (!(await store.results.takeOrphan(sha256, clock.unix()))) continue;
        await deleteTaken({ store, storage }, sha256);
        deleted += 1;
      }
      if (deleted > 0) return deleted;
    }
    return 0;
  };
}
