import { importNewApi } from '../../src/importing/import-new-api.ts';
import type { ImportReport } from '../../src/importing/report.ts';
import { type Clock, createSecretBox, systemClock } from '../../src/kernel/index.ts';
import { openSource, readSourceAddress } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';

export const secretBox = createSecretBox(['a secret of the tests, long enough']);

/** Imports as the command does, without its output. */
export async function importFrom(
  store: Store,
  address: string,
  {
    dryRun = false,
    onProgress,
    clock = systemClock,
  }: { dryRun?: boolean; onProgress?: () => void; clock?: Clock } = {},
): Promise<ImportReport> {
  const read = readSourceAddress(address);
  if (!read.ok) throw new Error(read.error);
  const source = await openSource(read.value);
  if (!source.ok) throw new Error(source.error);
  try {
    const options = { dryRun, ...(onProgress ? { onProgress } : {}) };
    return await importNewApi({ store, secretBox, clock }, source.value, options);
  } finally {
    await source.value.close();
  }
}
