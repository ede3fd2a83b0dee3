/** A bucket of results that two gateways with databases of their own are given by mistake. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sha256Hex, systemClock } from '../../src/kernel/index.ts';
import { acceptBucket, guardBucket } from '../../src/store/index.ts';
import type { FileStore, Store } from '../../src/store/ports/index.ts';
import { openBucketFiles } from '../support/bucket-files.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { startS3Server } from '../support/s3-server.ts';
import { type S3StandIn, s3Error, startS3StandIn } from '../support/s3-stand-in.ts';

const FOREIGN = 'the bucket of results belongs to another database';
const REFUSED = { code: 'store.results_unavailable', cause: new Error(FOREIGN) };
const KEY = 'kept/here/.taskgate-results';
const OPTION = 'results.folder_name';
const limit = () => ({ maxBytes: 1000, signal: new AbortController().signal });
async function* chunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** What a database knows of its results: a name, and rows of the files `texts`. */
function database(texts: string[] = []) {
  const options = new Map<string, string>();
  const known = new Set(texts.map((text) => sha256Hex(text)));
  const store = {
    results: {
      files: async (after: string) =>
        [...known]
          .filter((sha256) => sha256 > after)
          .sort()
          .map((sha256) => ({ sha256, bytes: 1, refs: 1 })),
      knownFiles: async (digests: string[]) => digests.filter((sha256) => known.has(sha256)),
    },
    options: {
      get: async (key: string) => options.get(key),
      putIfAbsent: async (key: string, value: string) => !options.has(key) && Boolean(options.set(key, value)),
    },
  } as unknown as Store;
  return { store, options };
}
type Database = ReturnType<typeof database>;

let url: string;
let closing: (() => Promise<void>)[];
let nowMs: number;
beforeEach(() => {
  closing = [];
  nowMs = systemClock.nowMs();
});
afterEach(async () => {
  for (const close of closing.reverse()) await close();
});

const openBucket = () => {
  const opened = openBucketFiles(url);
  closing.push(opened.close);
  return opened;
};
/** A node of the database with its view of the bucket, as after a start. */
const readNode = ({ store }: Database): FileStore => {
  const { files, marker } = openBucket();
  return guardBucket(files, { marker, store, clock: { ...systemClock, monotonicMs: () => nowMs } });
};
const digestsIn = async (files: FileStore) => (await files.list('', 100)).map(({ sha256 }) => sha256);

const servers: [string, () => Promise<{ url: string; stop(): Promise<void> }>][] = [
  ['a stand-in', async () => startS3StandIn()],
  ...(IS_FULL_RUN ? [['versitygw', startS3Server] as [string, typeof startS3Server]] : []),
];
describe.each(servers)('a bucket of %s', (_, start) => {
  beforeEach(async () => {
    const server = await start();
    url = server.url;
    closing.push(() => server.stop());
  });

  test('of another database is left alone: no file in it goes, and none comes', async () => {
    const theirs = readNode(database());
    expect(await theirs.put(chunk('theirs'), limit())).toMatchObject({ ok: true });
    // It knows a file of its own, so that counts alone would not hold it back.
    const mine = database(['mine']);
    mine.options.set(OPTION, 'M'.repeat(24));
    const node = readNode(mine);
    expect((await node.findFault())?.message).toBe(FOREIGN);
    await expect(node.list('', 10)).rejects.toMatchObject(REFUSED);
    await expect(node.delete(sha256Hex('theirs'))).rejects.toMatchObject(REFUSED);
    await expect(node.sweep(systemClock.unix() + 1)).rejects.toMatchObject(REFUSED);
    expect(await node.put(chunk('mine'), limit())).toMatchObject({
      ...{ ok: false, error: { kind: 'unavailable', message: FOREIGN } },
    });
    expect(await digestsIn(theirs)).toEqual([sha256Hex('theirs')]);
    expect(await theirs.findFault()).toBeUndefined();
  });

  test('that is new belongs to one of two databases that use it first at the same time', async () => {
    const [one, two] = [database(), database()];
    const puts = [one, one, two, two].map((each, n) => readNode(each).put(chunk(`${n}`), limit()));
    const [a, b, c, d] = (await Promise.all(puts)).map(({ ok }) => ok);
    expect([a === b, c === d, a !== c]).toEqual([true, true, true]);
    expect(await readNode(a ? two : one).put(chunk('late'), limit())).toMatchObject({ ok: false });
  });

  test('of an earlier version, without a marker, is known by the files in it', async () => {
    const { files, marker } = openBucket();
    await files.put(chunk('there'), limit());
    const stranger = readNode(database(['elsewhere']));
    expect(await digestsIn(stranger)).toEqual([]);
    expect(await stranger.put(chunk('x'), limit())).toMatchObject({ ok: false, error: { message: FOREIGN } });
    await expect(stranger.delete(sha256Hex('there'))).rejects.toMatchObject(REFUSED);
    expect(await marker.read()).toBeUndefined();
    const owner = database(['there']);
    await readNode(owner).delete(sha256Hex('gone'));
    expect(await marker.read()).toBe(owner.options.get(OPTION) ?? '');
    expect(await readNode(owner).put(chunk('x'), limit())).toMatchObject({ ok: true });
  });

  test('is taken again by its restored database, and by another by command alone', async () => {
    const files = readNode(database());
    await files.put(chunk('film'), limit());
    const restored = database(['film']);
    expect(await readNode(restored).put(chunk('more'), limit())).toMatchObject({ ok: true });
    expect(await files.findFault()).toBeUndefined();
    const other = database(['gone']);
    const node = readNode(other);
    expect(await node.put(chunk('x'), limit())).toMatchObject({ ok: false });
    const bucket = openBucket();
    expect(await acceptBucket(bucket.files, { marker: bucket.marker, store: other.store })).toEqual({ missing: 1 });
    expect(await node.put(chunk('x'), limit())).toMatchObject({ ok: true });
    // Each page of a sweep looks again.
    await expect(files.list('', 10)).rejects.toMatchObject(REFUSED);
  });
});

describe('the marker of a bucket', () => {
  let bucket: S3StandIn;
  beforeEach(() => {
    bucket = startS3StandIn();
    url = bucket.url;
    closing.push(() => bucket.stop());
  });

  test.each([
    ['refuses', () => s3Error(501, 'NotImplemented')],
    ['ignores', () => undefined],
  ])('is written once where the server %s conditions', async (_, answer) => {
    bucket.fault = (request, { pathname }) => {
      if (request.headers.get('if-none-match') === null) return undefined;
      expect(pathname).toEndWith('.taskgate-results');
      return answer();
    };
    const own = database();
    expect(await readNode(own).put(chunk('x'), limit())).toMatchObject({ ok: true });
    expect(bucket.objects.get(KEY)?.bytes.toString()).toBe(`${own.options.get(OPTION)}\n`);
  });

  test('is read once in a minute for copies, and a bucket that is down is not a fault of the place', async () => {
    const node = readNode(database());
    const reads = () => bucket.requests.filter((line) => line.startsWith('GET') && line.endsWith('-results')).length;
    await node.put(chunk('a'), limit());
    const before = reads();
    await node.put(chunk('b'), limit());
    expect(reads()).toBe(before);
    nowMs += 61_000;
    bucket.fault = () => s3Error(403, 'AccessDenied');
    expect(await node.findFault()).toBeUndefined();
    expect(await node.put(chunk('c'), limit())).toMatchObject({
      ...{ ok: false, error: { kind: 'unavailable', message: 'the bucket rejects the request (403 AccessDenied)' } },
    });
    await expect(node.list('', 10)).rejects.toMatchObject({ code: 'store.results_unavailable' });
  });

  test('with something else in it is nobody’s', async () => {
    const own = database();
    await readNode(own).put(chunk('x'), limit());
    const object = bucket.objects.get(KEY);
    if (object) object.bytes = Buffer.from('<html>');
    expect((await readNode(own).findFault())?.message).toBe(FOREIGN);
    expect(await readNode(database(['x'])).put(chunk('y'), limit())).toMatchObject({ ok: false });
  });
});
