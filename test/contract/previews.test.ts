import { expect, test } from 'bun:test';
import { quoted, randomAlnum, sha256Hex } from '../../src/kernel/index.ts';
import { type CopiedFile, type PendingResult, PREVIEW_KIND, type Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore, newTask } from './each-store.ts';

const DAY = 24 * 3_600_000;

const image = (text: string, change: Partial<CopiedFile> = {}): CopiedFile => ({
  ...{ sha256: sha256Hex(text), bytes: text.length, mimeType: 'image/webp', keptAt: 200, keptUntil: 0 },
  ...{ size: { width: 320, height: 180 }, ...change },
});
const readRefs = async (store: Store, text: string): Promise<number | undefined> =>
  (await store.results.files('', 500)).find(({ sha256 }) => sha256 === sha256Hex(text))?.refs;

/** A task of a new user, and a preview of its video. */
async function taskWithPreview(store: Store): Promise<{ taskId: string; userId: number; preview: PendingResult }> {
  const { id: userId } = await addUser(store, { username: `u${randomAlnum(10)}` });
  const { taskId } = await store.tasks.insert(newTask({ userId }));
  const preview = { taskId, userId, artifactKey: 'preview:video', kind: PREVIEW_KIND, createdAt: 100 };
  return { taskId, userId, preview };
}

describeEachStore('previews', (opened) => {
  test('only one of two offers at once is kept, and the file of the other is not needed', async () => {
    const { store, openAnother } = opened();
    const other = await openAnother();
    const { taskId, preview } = await taskWithPreview(store);
    const outcomes = await Promise.all([
      store.previews.add(preview, image('mine')),
      other.previews.add(preview, image('theirs')),
    ]);
    expect(outcomes.toSorted()).toEqual(['exists', 'kept']);
    expect([await readRefs(store, 'mine'), await readRefs(store, 'theirs')].toSorted()).toEqual([0, 1]);
    expect(await store.previews.ofTasks([taskId, 'task_unknown'])).toMatchObject([
      { artifactKey: 'preview:video', state: 'kept', width: 320, height: 180, mimeType: 'image/webp' },
    ]);
    expect(await store.previews.add(preview, image('late'))).toBe('exists');
  });

  test('an offer ends the claim of a node that makes one', async () => {
    const { store } = opened();
    const { taskId, preview } = await taskWithPreview(store);
    expect(await store.previews.schedule([preview], DAY)).toBe(true);
    const claimed = await store.results.claim({ owner: 'node-1', limit: 100, leaseForMs: 60_000 });
    const mine = claimed.find((row) => row.taskId === taskId) ?? expect.unreachable();
    expect(await store.previews.ofTasks([taskId])).toEqual([]);
    expect(await store.previews.add(preview, image('offered'))).toBe('kept');
    const lease = { id: mine.id, leaseOwner: 'node-1', leaseSeq: mine.leaseSeq };
    expect(await store.results.keep(lease, image('made'))).toBe('lost_claim');
    expect(await readRefs(store, 'made')).toBe(0);
    expect(await store.results.postpone(lease, { inMs: null, reason: quoted('x') })).toBe(false);
  });

  test('the size of one that a node makes is stored', async () => {
    const { store } = opened();
    const { taskId, preview } = await taskWithPreview(store);
    await store.previews.schedule([preview], DAY);
    const claimed = await store.results.claim({ owner: 'node-1', limit: 100, leaseForMs: 60_000 });
    const { id, leaseSeq } = claimed.find((row) => row.taskId === taskId) ?? expect.unreachable();
    expect(await store.results.keep({ id, leaseSeq, leaseOwner: 'node-1' }, image('drawn'))).toBe('kept');
    expect(await store.previews.ofTasks([taskId])).toMatchObject([{ width: 320, height: 180 }]);
  });

  test('nothing is kept or expected for another user’s task, a deleted one or an unknown one', async () => {
    const { store } = opened();
    const { taskId, userId, preview } = await taskWithPreview(store);
    const stranger = await addUser(store, { username: `s${randomAlnum(10)}` });
    expect(await store.previews.add({ ...preview, userId: stranger.id }, image('x'))).toBe('no_task');
    const unknown = { ...preview, taskId: 'task_unknown' };
    expect(await store.previews.add(unknown, image('x'))).toBe('no_task');
    expect(await store.previews.schedule([unknown], DAY)).toBe(false);
    expect(await store.previews.schedule([], DAY)).toBe(false);
    const task = await store.tasks.byTaskId(taskId);
    await store.tasks.advance(
      { taskId, leaseOwner: task?.leaseOwner ?? '', leaseSeq: task?.leaseSeq ?? 0 },
      { status: 'SUCCESS', progress: '100%' },
      null,
    );
    expect(await store.tasks.hide((await store.tasks.byTaskId(taskId)) ?? expect.unreachable())).toBe(true);
    expect(await store.previews.add(preview, image('x'))).toBe('no_task');
    expect(await store.previews.schedule([preview], DAY)).toBe(false);
    expect(await readRefs(store, 'x')).toBeUndefined();
    expect(await store.results.usage(userId)).toEqual({ bytes: 0, results: 0 });
  });

  test('they count in the quota and not among the results; the user who has the most loses the oldest', async () => {
    const { store } = opened();
    const [many, one] = [await taskWithPreview(store), await taskWithPreview(store)];
    const add = (of: typeof many, key: string, { keptAt = 0, quotaBytes }: Partial<CopiedFile>) =>
      store.previews.add(
        { ...of.preview, artifactKey: `preview:${key}` },
        image(`${key} of many`, { keptAt, quotaBytes }),
      );
    for (const [key, keptAt] of [
      ['b', 20],
      ['a', 10],
      ['c', 30],
    ] as const)
      expect(await add(many, key, { keptAt })).toBe('kept');
    expect(await add(one, 'a', { keptAt: 5 })).toBe('kept');
    expect(await add(many, 'd', { keptAt: 40, quotaBytes: 35 })).toBe('over_quota');
    expect(await readRefs(store, 'd of many')).toBeUndefined();
    expect(await store.results.usage(many.userId)).toEqual({ bytes: 27, results: 0 });
    expect(await readRefs(store, 'a of many')).toBe(2);
    const before = await store.previews.usage();
    expect(await store.previews.forgetOldest(many.userId, 2)).toBe(2);
    expect((await store.previews.ofTasks([many.taskId])).map(({ artifactKey }) => artifactKey)).toEqual(['preview:c']);
    expect(await store.previews.ofTasks([one.taskId])).toHaveLength(1);
    expect([await readRefs(store, 'a of many'), await readRefs(store, 'b of many')]).toEqual([1, 0]);
    expect((await store.previews.usage()).bytes).toBe(before.bytes - 18);
    expect(await store.results.forget(many.taskId)).toBe(1);
  });
});
