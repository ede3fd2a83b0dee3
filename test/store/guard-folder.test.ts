/** A folder of results whose mount vanished, or that is another database's. */
import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex, systemClock } from '../../src/kernel/index.ts';
import { acceptFolder, createFolderFiles, guardFolder } from '../../src/store/index.ts';
import type { FileStore, Store } from '../../src/store/ports/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const limit = () => ({ maxBytes: 1000, signal: new AbortController().signal });
async function* chunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
const REFUSED = { code: 'store.results_unavailable' };
const NO_MARKER = 'the folder of results has no marker: its mount may be missing';

describeEachStore(
  'the folder of results that a database knows',
  (opened) => {
    const FOLDER_OPTION = 'results.folder_name';
    /** A node of the store with its view of the folder, as after a start. */
    const nodeAt = (folder: string, store: Store): FileStore =>
      guardFolder(createFolderFiles({ folder, minFreeBytes: 0 }), { folder, store });
    const forgetful = (store: Store, files: string[] = []) => {
      const options = new Map<string, string>();
      return {
        results: { ...store.results, files: async () => files.map((sha256) => ({ sha256, bytes: 1, refs: 1 })) },
        options: {
          ...store.options,
          get: async (key: string) => options.get(key),
          putIfAbsent: async (key: string, value: string) => !options.has(key) && Boolean(options.set(key, value)),
        },
      } as unknown as Store;
    };

    test('takes and gives nothing while its mount is missing, and goes on when it is back', async () => {
      const { store } = opened();
      const folder = join(temporaryFolder(), 'shared');
      const [node, other] = [nodeAt(folder, store), nodeAt(folder, store)];
      expect(await node.findFault()).toBeUndefined();
      await node.put(chunk('film'), limit());
      expect(await other.size(sha256Hex('film'))).toBe(4);
      expect(await store.options.get(FOLDER_OPTION)).toMatch(/^\w{24}$/);

      renameSync(folder, `${folder}.away`);
      mkdirSync(folder);
      for (const each of [node, other, nodeAt(folder, store)]) {
        expect((await each.findFault())?.message).toBe(NO_MARKER);
        expect(await each.put(chunk('later'), limit())).toMatchObject({
          ...{ ok: false, error: { kind: 'unavailable', message: NO_MARKER } },
        });
        expect(each.open(sha256Hex('film'))).rejects.toMatchObject(REFUSED);
        expect(each.size(sha256Hex('film'))).rejects.toMatchObject(REFUSED);
        expect(each.delete(sha256Hex('film'))).rejects.toMatchObject(REFUSED);
        expect(each.list('', 10)).rejects.toMatchObject(REFUSED);
        expect(each.sweep(10)).rejects.toMatchObject(REFUSED);
      }
      expect(readdirSync(folder)).toEqual([]);
      rmSync(folder, { recursive: true });
      expect((await node.findFault())?.message).toBe(NO_MARKER);
      expect(await node.put(chunk('later'), limit())).toMatchObject({ ok: false });
      expect(existsSync(folder)).toBe(false);

      renameSync(`${folder}.away`, folder);
      expect(await node.size(sha256Hex('film'))).toBe(4);
      expect(await node.put(chunk('later'), limit())).toMatchObject({ ok: true });
    });

    test('can be replaced by a new and empty one, which is accepted by command', async () => {
      const { store } = opened();
      const folder = join(temporaryFolder(), 'new');
      mkdirSync(folder);
      const node = nodeAt(folder, store);
      expect((await node.findFault())?.message).toBe(NO_MARKER);
      const { missing } = await acceptFolder(createFolderFiles({ folder, minFreeBytes: 0 }), { folder, store });
      expect(missing).toBe(0);
      expect(await node.findFault()).toBeUndefined();
      expect(await node.put(chunk('new'), limit())).toMatchObject({ ok: true });
      const another = forgetful(store);
      expect(await nodeAt(join(temporaryFolder(), 'x'), another).put(chunk('x'), limit())).toMatchObject({ ok: true });
      expect((await nodeAt(folder, another).findFault())?.message).toBe(
        'the folder of results belongs to another database',
      );
      await acceptFolder(createFolderFiles({ folder, minFreeBytes: 0 }), { folder, store: another });
      expect(await nodeAt(folder, another).findFault()).toBeUndefined();
    });

    test('is one folder, also where two nodes use it first at the same time', async () => {
      const store = forgetful(opened().store);
      const folder = join(temporaryFolder(), 'first');
      const puts = ['a', 'b', 'c', 'd'].map((text) => nodeAt(folder, store).put(chunk(text), limit()));
      expect((await Promise.all(puts)).map(({ ok }) => ok)).toEqual([true, true, true, true]);
      expect(readdirSync(folder).filter((name) => name.startsWith('.taskgate'))).toEqual(['.taskgate-results']);
    });

    test('of another database is left alone: no file in it goes, and none comes', async () => {
      const folder = join(temporaryFolder(), 'theirs');
      const theirs = nodeAt(folder, forgetful(opened().store));
      expect(await theirs.put(chunk('theirs'), limit())).toMatchObject({ ok: true });
      // A new database, or one that was restored, is given the same folder by mistake.
      const mine = nodeAt(folder, forgetful(opened().store));
      expect(await mine.list('', 10)).toEqual([]);
      expect(await mine.sweep(systemClock.unix() + 1)).toBe(0);
      expect(await mine.put(chunk('mine'), limit())).toMatchObject({
        ...{ ok: false, error: { kind: 'unavailable', message: 'the folder of results belongs to another database' } },
      });
      expect((await theirs.list('', 10)).map(({ sha256 }) => sha256)).toEqual([sha256Hex('theirs')]);
      expect(await theirs.put(chunk('more'), limit())).toMatchObject({ ok: true });
    });

    test('of an earlier version, without a marker, is known by the files in it', async () => {
      const folder = join(temporaryFolder(), 'old');
      const files = createFolderFiles({ folder, minFreeBytes: 0 });
      const store = forgetful(opened().store, [sha256Hex('gone'), sha256Hex('there')]);
      expect(await nodeAt(folder, store).put(chunk('x'), limit())).toMatchObject({ ok: false });
      await files.put(chunk('there'), limit());
      expect(await nodeAt(folder, store).put(chunk('x'), limit())).toMatchObject({ ok: true });
    });
  },
  { databases: ['sqlite'] },
);
