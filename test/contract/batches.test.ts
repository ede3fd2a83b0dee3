import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import type { NewBatch } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addRunningTask, describeEachStore, newTask, readLease } from './each-store.ts';

const newBatch = (userId: number, change: Partial<NewBatch> = {}): NewBatch => ({
  batchId: `batch_${randomAlnum(24)}`,
  ...{ userId, apiKeyId: 7, endpoint: '/v1/videos', inputFileId: '', allOrNone: false, metadata: { for: 'a test' } },
  ...{ callbackUrl: null, requestId: 'r', status: 'in_progress', total: 3, startedAt: 100 },
  ...{ createdAt: 100, expiresAt: 100 + 86_400 },
  ...change,
});
const items = (count: number) =>
  Array.from({ length: count }, (_, position) => ({
    ...{ position, customId: `item ${position}`, path: '/v1/videos', body: { prompt: `cat ${position}` } },
  }));

describeEachStore('batches', (opened) => {
  test('a batch is stored with its items, up to a number for each user, however many come at once', async () => {
    const { store } = opened();
    const [{ id: userId }, other] = [await addUser(store), await addUser(store)];
    const batches = Array.from({ length: 8 }, () => newBatch(userId));
    const stored = await Promise.all(batches.map((batch) => store.batches.insert(batch, items(3), 3)));
    expect(stored.filter(Boolean)).toHaveLength(3);
    expect(await store.batches.insert(newBatch(other.id), items(205), 3)).toBe(true);

    const own = await store.batches.ofUser(userId, { limit: 2, order: 'asc' });
    const next = await store.batches.ofUser(userId, { after: own[1]?.id, limit: 2, order: 'asc' });
    expect([own.length, next.length]).toEqual([2, 1]);
    expect(own[0]).toMatchObject({ status: 'in_progress', metadata: { for: 'a test' }, error: null, endedAt: 0 });
    expect(await store.batches.byId(own[0]?.batchId ?? '')).toEqual(own[0]);
    expect((await store.batches.unsent(own[0]?.batchId ?? '', 2)).map(({ body }) => body)).toEqual([
      { prompt: 'cat 0' },
      { prompt: 'cat 1' },
    ]);
    const [theirs] = await store.batches.ofUser(other.id, { limit: 5, order: 'desc' });
    expect(await store.batches.outcomes(theirs?.batchId ?? '', 199, 10)).toHaveLength(5);
  });

  test('an item ends once, without its body, and follows the task that it became', async () => {
    const { store } = opened();
    const { id: userId } = await addUser(store);
    const batch = newBatch(userId);
    await store.batches.insert(batch, items(5), 10);
    const { batchId } = batch;
    const at = (position: number) => ({ batchId, position });
    const runs = await addRunningTask(store, { userId, quota: 5 });
    const done = await store.tasks.insert(newTask({ userId, quota: 5 }));
    const failed = await store.tasks.insert(newTask({ userId, quota: 5 }));
    expect(await store.batches.begin(at(0), 100)).toBe(true);
    // A process that died, and the one after it.
    expect(await store.batches.begin(at(0), 200)).toBe(true);
    expect((await store.batches.unsent(batchId, 1))[0]).toMatchObject({ status: 'sending', begunAt: 100 });
    const refused = { code: 'tasks.vendor_rejected', kind: 'invalid' as const, message: 'no' };
    await store.batches.endItem(at(0), { status: 'submitted', taskId: runs.taskId, error: null });
    await store.batches.endItem(at(1), { status: 'submitted', taskId: done.taskId, error: null });
    await store.batches.endItem(at(2), { status: 'submitted', taskId: failed.taskId, error: null });
    expect(await store.batches.endItem(at(3), { status: 'failed', taskId: null, error: refused })).toBe(true);
    expect(await store.batches.endItem(at(3), { status: 'submitted', taskId: 'other', error: null })).toBe(false);
    expect(await store.batches.begin(at(3), 300)).toBe(false);

    await store.tasks.advance(readLease(done), { status: 'SUCCESS' }, 0);
    await store.tasks.advance(readLease(failed), { status: 'FAILURE' }, 0);
    expect(await store.batches.followTasks(batchId)).toBe(2);
    expect((await store.batches.counts([batchId])).get(batchId)).toEqual({
      ...{ pending: 1, sending: 0, submitted: 1, completed: 1, failed: 2, cancelled: 0, expired: 0 },
    });
    expect(await store.batches.endPending(batchId, 'expired')).toBe(1);
    expect(await store.batches.unsent(batchId, 10)).toEqual([]);
    const outcomes = await store.batches.outcomes(batchId, -1, 10);
    expect(outcomes.map(({ status, taskId, quota }) => [status, taskId, quota])).toEqual([
      ['submitted', runs.taskId, 5],
      ['completed', done.taskId, 5],
      ['failed', failed.taskId, 5],
      ['failed', null, 0],
      ['expired', null, 0],
    ]);
    expect(outcomes[3]?.error).toEqual(refused);
  });

  test('an open batch is due until it has ended, and ends once; a due time from the future counts as over', async () => {
    const { store } = opened();
    const { id: userId } = await addUser(store);
    const batch = newBatch(userId, { status: 'validating', startedAt: 0 });
    const { batchId } = batch;
    await store.batches.insert(batch, items(1), 10);
    const isDue = async () => (await store.batches.due(1000)).some((each) => each.batchId === batchId);
    expect(await isDue()).toBe(true);
    expect(await store.batches.untilDue()).toBeLessThanOrEqual(0);
    await store.batches.postpone(batchId, 60_000);
    expect(await isDue()).toBe(false);
    await store.batches.postpone(batchId, 86_400_000);
    expect(await isDue()).toBe(true);
    expect([await store.batches.start(batchId, 150), await store.batches.start(batchId, 151)]).toEqual([true, false]);
    await store.batches.postpone(batchId, 60_000);
    expect([await store.batches.requestCancel(batchId, 160), await store.batches.requestCancel(batchId, 161)]).toEqual([
      true,
      false,
    ]);
    expect(await isDue()).toBe(true);
    const end = { status: 'cancelled' as const, error: null, endedAt: 200 };
    expect([await store.batches.end(batchId, end), await store.batches.end(batchId, end)]).toEqual([true, false]);
    expect(await isDue()).toBe(false);
    expect(await store.batches.byId(batchId)).toMatchObject({ startedAt: 150, cancellingAt: 160, endedAt: 200 });

    const open = newBatch(userId);
    await store.batches.insert(open, items(1), 10);
    while ((await store.batches.deleteOld(100, 1)) > 0);
    expect([await store.batches.byId(batchId), (await store.batches.byId(open.batchId))?.batchId]).toEqual([
      undefined,
      open.batchId,
    ]);
    expect(await store.batches.outcomes(batchId, -1, 5)).toEqual([]);
  });

  test('files are bounded for each user, expire, and go with their user', async () => {
    const { store } = opened();
    const [{ id: userId }, other] = [await addUser(store), await addUser(store)];
    const newFile = (change: object = {}) => ({
      ...{ fileId: `file-${randomAlnum(24)}`, userId, filename: 'a.jsonl', bytes: 10, content: '{}\n' },
      ...{ createdAt: 100, expiresAt: 200, ...change },
    });
    const most = { files: 3, bytes: 25 };
    const added = await Promise.all([1, 2, 3, 4].map(() => store.batches.addFile(newFile(), most)));
    expect(added.filter(Boolean)).toHaveLength(2);
    const kept = newFile({ userId: other.id, expiresAt: 900 });
    await store.batches.addFile(kept, most);
    expect(await store.batches.fileContent(kept.fileId)).toBe('{}\n');
    const [mine] = await store.batches.files(userId);
    expect(await store.batches.file(mine?.fileId ?? '')).toEqual(mine);
    expect(await store.batches.deleteFile(mine?.fileId ?? '')).toBe(true);
    while ((await store.batches.deleteExpiredFiles(300, 10)) > 0);
    expect([await store.batches.files(userId), (await store.batches.files(other.id)).length]).toEqual([[], 1]);
    await store.batches.insert(newBatch(other.id), items(2), 10);
    while ((await store.batches.deleteOfUser(other.id, 1)) > 0);
    expect([
      await store.batches.files(other.id),
      await store.batches.ofUser(other.id, { limit: 5, order: 'asc' }),
    ]).toEqual([[], []]);
  });
});
