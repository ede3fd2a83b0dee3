/**
 * A power cut after `secrets.json` was made or replaced: what is sealed next is flushed with the
 * database, so the name of the file that opens it must be on the disk before.
 */
import { afterAll, expect, mock, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/temporary-folder.ts';

const FLUSH = '../../src/store/sqlite/flush.ts';
const { flushFolder, ...others } = await import(FLUSH);
/** What `secrets.json` held at each flush of its folder. */
const flushed: string[] = [];
mock.module(FLUSH, () => ({
  ...others,
  flushFolder(path: string) {
    flushFolder(path);
    flushed.push(readFileSync(join(path, 'secrets.json'), 'utf8'));
  },
}));
afterAll(() => mock.module(FLUSH, () => ({ ...others, flushFolder })));
const { generateSecrets, loadSecrets } = await import('../../src/operations/secrets/load-secrets.ts');

test('the folder of secrets.json is flushed once the new secrets are in it', () => {
  const dataDir = temporaryFolder();
  const config = { sessionSecret: '', sessionSecretPrevious: [], cryptoSecret: '', cryptoSecretPrevious: [] };
  const made = loadSecrets(config, dataDir);
  expect(flushed.map((text) => JSON.parse(text).crypto_secret)).toEqual([made.crypto[0]]);
  generateSecrets(config, dataDir);
  const next = loadSecrets(config, dataDir);
  expect(flushed.map((text) => JSON.parse(text).crypto_secret)).toEqual([made.crypto[0], next.crypto[0]]);
});
