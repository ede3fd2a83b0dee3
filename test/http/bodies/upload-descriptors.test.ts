import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createUploadBudget, openUploadFolder } from '../../../src/http/bodies/upload-folder.ts';
import { silentLogger } from '../../../src/kernel/index.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const budget = createUploadBudget({ nodeBytes: Number.POSITIVE_INFINITY, userBytes: Number.POSITIVE_INFINITY });
const uploads = openUploadFolder({ folder: join(temporaryFolder(), 'uploads'), budget, logger: silentLogger }).of(null);
const SIZE = 1024 * 1024;

async function upload(byte: number) {
  const writer = uploads.begin();
  await writer.write(new Uint8Array(SIZE).fill(byte));
  return { file: await writer.end(), remove: writer.remove };
}

/** The distinct bytes read until the stream ended or failed. */
async function readRest(reading: AsyncIterator<Uint8Array>): Promise<Set<number>> {
  const seen = new Set<number>();
  try {
    for (let step = await reading.next(); !step.done; step = await reading.next()) {
      for (const byte of step.value) seen.add(byte);
    }
  } catch {
    // Where reading fails does not matter.
  }
  return seen;
}

test('descriptor reuse: a reader of a removed file never gets the next client’s file', async () => {
  const mine = await upload(1);
  const reading = mine.file.stream()[Symbol.asyncIterator]();
  await reading.next();
  await mine.remove();
  // The system reuses the closed descriptor for one of these.
  const others = await Promise.all([upload(2), upload(2), upload(2)]);
  expect(await readRest(reading)).toEqual(new Set());
  expect(await readRest(others[0].file.stream()[Symbol.asyncIterator]())).toEqual(new Set([2]));
  await Promise.all(others.map(({ remove }) => remove()));
});
