import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../src/kernel/index.ts';
import { createFolderFiles } from '../../src/store/index.ts';
import type { FileStore } from '../../src/store/ports/index.ts';
import { openBucketFiles } from '../support/bucket-files.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { startS3Server } from '../support/s3-server.ts';
import { startS3StandIn } from '../support/s3-stand-in.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

type Opened = { files: FileStore; close?: () => Promise<void> };

/** Every place for kept results. */
const places: (readonly [name: string, open: () => Promise<Opened>])[] = [
  [
    'a folder',
    async () => ({ files: createFolderFiles({ folder: join(temporaryFolder(), 'results'), minFreeBytes: 0 }) }),
  ],
  ['a bucket', async () => openOn(startS3StandIn())],
  ...(IS_FULL_RUN ? [['a bucket of versitygw', async () => openOn(await startS3Server())] as const] : []),
];

function openOn(server: { url: string; stop(): Promise<void> }): Opened {
  const { files, close } = openBucketFiles(server.url);
  return { files, close: () => close().then(server.stop) };
}

const limit = (change: { maxBytes?: number; signal?: AbortSignal } = {}) => ({
  maxBytes: 1_000_000,
  signal: new AbortController().signal,
  ...change,
});
async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
const readText = async (files: FileStore, sha256: string, span?: { start: number; end: number }) => {
  const found = await files.open(sha256, span);
  return found && new Response(found).text();
};

describe.each(places)('the files of kept results in %s', (_, open) => {
  const opened = open();
  afterAll(async () => (await opened).close?.());

  test('are stored under their digest, and read whole or in part', async () => {
    const { files } = await opened;
    const sha256 = sha256Hex('one two three');
    expect(await files.put(chunks('one ', 'two ', 'three'), limit())).toEqual({
      ok: true,
      value: { sha256, bytes: 13 },
    });
    expect(await readText(files, sha256)).toBe('one two three');
    expect(await readText(files, sha256, { start: 4, end: 7 })).toBe('two');
    expect(await files.size(sha256)).toBe(13);
    expect(await files.put(chunks('one two three'), limit())).toMatchObject({ ok: true, value: { sha256 } });
    expect(await files.put(chunks(), limit())).toMatchObject({ ok: true, value: { sha256: sha256Hex(''), bytes: 0 } });
  });

  test('appear complete or not at all: too large, aborted, or broken off by the vendor', async () => {
    const { files } = await opened;
    const before = await files.list('', 100);
    expect(await files.put(chunks('12345', '67890'), limit({ maxBytes: 9 }))).toMatchObject({
      ok: false,
      error: { kind: 'too_large' },
    });
    const controller = new AbortController();
    const endless = (async function* () {
      for (let n = 0; ; n += 1) {
        if (n === 3) controller.abort(new Error('stopped'));
        yield Buffer.from('again');
      }
    })();
    expect(files.put(endless, limit({ signal: controller.signal }))).rejects.toThrow('stopped');
    const broken = (async function* () {
      yield Buffer.from('half');
      throw new Error('the vendor hung up');
    })();
    expect(files.put(broken, limit())).rejects.toThrow('the vendor hung up');
    expect(await files.list('', 100)).toEqual(before);
  });

  test('are listed by digest in pages, deleted, and then gone', async () => {
    const { files } = await opened;
    const texts = ['a', 'b', 'c', 'd', 'e'];
    for (const text of texts) await files.put(chunks(text), limit());
    const all = (await files.list('', 1000)).map(({ sha256 }) => sha256);
    expect(all).toEqual([...all].sort());
    for (const text of texts) expect(all).toContain(sha256Hex(text));
    const paged: string[] = [];
    for (let after = ''; ; after = paged.at(-1) ?? '') {
      const page = await files.list(after, 2);
      if (page.length === 0) break;
      paged.push(...page.map(({ sha256 }) => sha256));
    }
    expect(paged).toEqual(all);
    await files.delete(sha256Hex('a'));
    await files.delete(sha256Hex('a'));
    expect(await files.open(sha256Hex('a'))).toBeUndefined();
    expect(await files.size(sha256Hex('a'))).toBeUndefined();
  });

  test.each([
    '../secrets.json',
    './../secrets.json',
    '../../../../../../etc/passwd',
    '.partial/one',
    `${'a'.repeat(62)}/x`,
    `${'a'.repeat(64)}/../x`,
    `${'A'.repeat(64)}`,
    `${'a'.repeat(64)}\n`,
    `${'a'.repeat(64)}?versionId=1`,
    '',
  ])('path traversal by a row of a forged backup: %j names no file', async (name) => {
    const { files } = await opened;
    expect(await files.open(name)).toBeUndefined();
    expect(await files.size(name)).toBeUndefined();
    expect(await files.withDescriptor(name, limit(), async () => 'read')).toBeUndefined();
    expect(files.presign(name, { seconds: 60, mimeType: 'video/mp4', disposition: 'inline' })).toBeUndefined();
    await files.delete(name);
  });
});

describe('a folder of results', () => {
  test('path traversal: neither reads nor deletes a file beside it', async () => {
    const dataDir = temporaryFolder();
    const secrets = join(dataDir, 'secrets.json');
    writeFileSync(secrets, '{}');
    const files = createFolderFiles({ folder: join(dataDir, 'results'), minFreeBytes: 0 });
    await files.put(chunks('x'), limit());
    expect(await files.open('./../secrets.json')).toBeUndefined();
    await files.delete('./../secrets.json');
    expect(existsSync(secrets)).toBe(true);
  });

  test('loses what a killed process left half written, but not what is being written', async () => {
    const folder = temporaryFolder();
    const files = createFolderFiles({ folder, minFreeBytes: 0 });
    await files.put(chunks('x'), limit());
    const partial = join(folder, '.partial');
    await Bun.write(join(partial, 'old'), 'half');
    await Bun.write(join(partial, 'new'), 'half');
    utimesSync(join(partial, 'old'), 1000, 1000);
    expect(await files.sweep(2000)).toBe(1);
    expect(readdirSync(partial)).toEqual(['new']);
    expect(await files.list('', 10)).toMatchObject([{ sha256: sha256Hex('x') }]);
  });

  test('on a nearly full disk takes nothing', async () => {
    const files = createFolderFiles({ folder: temporaryFolder(), minFreeBytes: Number.MAX_SAFE_INTEGER });
    expect(await files.put(chunks('x'), limit())).toMatchObject({ ok: false, error: { kind: 'full' } });
    expect(await files.list('', 10)).toEqual([]);
  });

  test('that cannot be read is unavailable, and reports no file as lost', async () => {
    const folder = temporaryFolder();
    const files = createFolderFiles({ folder, minFreeBytes: 0 });
    const loop = join(folder, sha256Hex('x').slice(0, 2));
    symlinkSync(loop, loop);
    await expect(files.open(sha256Hex('x'))).rejects.toMatchObject({ code: 'store.results_unavailable' });
  });

  test('that cannot be written says so', async () => {
    const folder = temporaryFolder();
    await Bun.write(join(folder, 'file'), '');
    const files = createFolderFiles({ folder: join(folder, 'file', 'results'), minFreeBytes: 0 });
    expect(await files.put(chunks('x'), limit())).toMatchObject({ ok: false, error: { kind: 'unavailable' } });
  });
});
