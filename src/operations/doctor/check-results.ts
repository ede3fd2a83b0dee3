import { describeBytes, pluralize } from '../../kernel/index.ts';
import type { FileStore, Store } from '../../store/ports/index.ts';
import type { Finding } from './doctor-checks.ts';

/** Files compared at a time, and named in a finding at most. */
const PAGE = 500;
const NAMED = 20;

type Faults = {
  missing: string[];
  resized: string[];
  changed: string[];
  unneeded: number;
  bytes: number;
  files: number;
};

/**
 * Compares the files of kept results with their rows; `verify` reads each file and compares its
 * digest. Changes nothing. Files that nothing needs are a warning: the clean-up removes them.
 */
export async function checkResults(
  { store, files }: { store: Pick<Store, 'results'>; files: FileStore },
  { verify }: { verify: boolean },
): Promise<Finding[]> {
  const fault = await files.findFault();
  if (fault !== undefined) {
    const remedy =
      files.kind === 's3'
        ? 'give each gateway a prefix of its own, or make the bucket this one’s with taskgate results accept-folder'
        : 'mount it, or make this folder the new one with taskgate results accept-folder';
    return [{ check: 'results', level: 'error', message: `${fault.message}; ${remedy}` }];
  }
  const faults: Faults = { missing: [], resized: [], changed: [], unneeded: 0, bytes: 0, files: 0 };
  await compareRows(store, files, { verify, faults });
  await countOrphans(store, files, faults);
  const findings: Finding[] = [];
  const add = (level: Finding['level'], message: string) => findings.push({ check: 'results', level, message });
  const named = (digests: readonly string[]) =>
    digests.length > NAMED ? `${digests.slice(0, NAMED).join(', ')}, …` : digests.join(', ');
  const { missing, resized, changed } = faults;
  if (missing.length > 0)
    add(
      'error',
      `${pluralize(missing.length, 'file of a kept result is', 'files of kept results are')} missing: ${named(missing)}`,
    );
  if (resized.length > 0)
    add(
      'error',
      `${pluralize(resized.length, 'file has', 'files have')} another size than recorded: ${named(resized)}`,
    );
  if (changed.length > 0)
    add(
      'error',
      `${pluralize(changed.length, 'file has', 'files have')} another content than recorded: ${named(changed)}`,
    );
  if (faults.unneeded > 0)
    add(
      'warning',
      `${pluralize(faults.unneeded, 'file is', 'files are')} needed by no result: to be removed by the clean-up`,
    );
  if (findings.length === 0)
    add('ok', `${pluralize(faults.files, 'file')} of kept results (${describeBytes(faults.bytes)}) in place`);
  return findings;
}

async function compareRows(
  store: Pick<Store, 'results'>,
  files: FileStore,
  { verify, faults }: { verify: boolean; faults: Faults },
): Promise<void> {
  for (let after = ''; ; ) {
    const page = await store.results.files(after, PAGE);
    const last = page.at(-1);
    if (!last) return;
    after = last.sha256;
    for (const { sha256, bytes, refs } of page) {
      if (refs <= 0) continue;
      const size = await files.size(sha256);
      if (size === undefined) faults.missing.push(sha256);
      else if (size !== bytes) faults.resized.push(sha256);
      else if (verify && (await digestFile(files, sha256)) !== sha256) faults.changed.push(sha256);
      faults.files += 1;
      faults.bytes += bytes;
    }
  }
}

async function digestFile(files: FileStore, sha256: string): Promise<string> {
  const opened = await files.open(sha256);
  if (!opened) return '';
  const hash = new Bun.CryptoHasher('sha256');
  for await (const chunk of opened instanceof ReadableStream ? opened : opened.stream()) hash.update(chunk);
  return hash.digest('hex');
}

async function countOrphans(store: Pick<Store, 'results'>, files: FileStore, faults: Faults): Promise<void> {
  for (let after = ''; ; ) {
    const page = await files.list(after, PAGE);
    const last = page.at(-1);
    if (!last) return;
    after = last.sha256;
    const known = new Set(await store.results.knownFiles(page.map(({ sha256 }) => sha256)));
    faults.unneeded += page.filter(({ sha256 }) => !known.has(sha256)).length;
  }
}
