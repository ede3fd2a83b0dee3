import { createReadStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OperatorError, sentence, toSentence } from '../../kernel/index.ts';
import type { FileStore } from '../../store/ports/index.ts';
import { putPart, WORK_FOLDER } from './backup-location.ts';
import { RESULTS_PART } from './manifest.ts';
import { listResults } from './read-parts.ts';
import type { BackupDeps, Manifest } from './types.ts';

const PAGE = 1000;

/**
 * Copies the files of kept results that the place does not have yet, and stores the list of all.
 * Both sides come in order of their digests, so they are compared as they are read. A file that is
 * gone by then is counted as missing; the clean-up may have removed it.
 */
export async function copyResults(
  deps: BackupDeps,
  { id, wanted, from }: { id: string; wanted: AsyncIterable<{ sha256: string; bytes: number }>; from: FileStore },
): Promise<Manifest['results']> {
  const { place, config, signal } = deps;
  const folder = join(resolve(config.dataDir), WORK_FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const listPath = join(folder, RESULTS_PART);
  await rm(listPath, { force: true });
  const list = await open(listPath, 'wx', 0o600);
  const figures = { count: 0, total_bytes: 0, missing: 0 };
  try {
    const there = createListCursor(place.results);
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
 * place may have pruned its backups since. The backup has its first part in the place by now,
 * so nobody begins to prune beside it.
 * @throws `OperatorError` where a file cannot be had any more
 */
export async function keepResults(
  deps: BackupDeps,
  { id, results, from }: { id: string; results: Manifest['results']; from: FileStore },
): Promise<void> {
  const there = createListCursor(deps.place.results);
  for await (const { sha256 } of listResults(deps.place, { id, results })) {
    deps.signal.throwIfAborted();
    if ((await there.has(sha256)) || (await copyOne(deps, from, sha256))) continue;
    throw new OperatorError(sentence('backup.result_removed', { sha: sha256, place: deps.place.name }));
  }
}

/** Tells whether files are in a place; ask in ascending order of the digests. */
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

async function copyOne({ place, signal }: BackupDeps, from: FileStore, sha256: string): Promise<boolean> {
  const opened = await from.open(sha256);
  if (!opened) return false;
  const bytes = opened instanceof ReadableStream ? opened : opened.stream();
  const put = await place.results.put(bytes, { maxBytes: Number.POSITIVE_INFINITY, signal });
  if (!put.ok) {
    const fault = toSentence(put.error);
    throw new OperatorError(sentence('backup.result_write', { place: place.name, fault }));
  }
  if (put.value.sha256 === sha256) return true;
  // Its bytes are not what its name says: such a file helps nobody.
  await place.results.delete(put.value.sha256);
  return false;
}
