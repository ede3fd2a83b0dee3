/** The line of tasks that wait: turns, claims by several nodes, returns, and their end. */
import { expect, test } from 'bun:test';
import type { NewWaiting, Store, TakenWaiting, WaitingClass, WaitingCount } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { until } from '../support/until.ts';
import { describeEachStore, NEW_WAITING, newTask, readLease } from './each-store.ts';
import { runRaw } from './open-raw.ts';

const LEASE = { owner: 'node', leaseForMs: 60_000 };
const PAUSE = { waitMs: 50, counts: true };
const HOUR = 3_600_000;
let classes = 0;

const newClass = (): WaitingClass => {
  classes += 1;
  return { class: `c${classes}`, plugin: 'demo', model: 'demo-1', group: 'default', channelId: 0, credentialId: 0 };
};

async function fillQueue(store: Store, of: WaitingClass, entries: Partial<NewWaiting>[]): Promise<string[]> {
  const tasks = [];
  for (const { userId = 1 } of entries)
    tasks.push(
      await store.tasks.insert(
        newTask({ userId, channelId: 0, phase: 'waiting', leaseOwner: null, leaseForMs: 0, waitingSince: 100 }),
      ),
    );
  await store.waiting.put(tasks.map(({ taskId }, index) => ({ ...NEW_WAITING, ...entries[index], taskId, class: of })));
  return tasks.map(({ taskId }) => taskId);
}

const sending = { channelId: 7, credentialId: 70, upstreamModel: 'up-1', slots: 1 };

/** As a node sends the first of a class. */
const send = (
  store: Store,
  of: Pick<WaitingCount, 'class'> & { priority?: number },
  limit: number,
): Promise<TakenWaiting[]> =>
  store.transaction(async (tx) => {
    const heads = await tx.waiting.heads({ class: of.class, priority: of.priority ?? 0, nodes: [''], limit });
    const taken = await tx.waiting.take(
      heads.map(({ taskId }) => ({ taskId, sending })),
      LEASE,
    );
    await tx.waiting.count(taken, { isSent: true });
    return taken;
  });

const countRows = async (store: Store, of: WaitingClass, priority = 0) =>
  (await store.waiting.classes()).find((count) => count.class === of.class && count.priority === priority);

describeEachStore('tasks that wait', (opened) => {
  test('users take turns, however many tasks one has put in line', async () => {
    const { store } = opened();
    const of = newClass();
    await fillQueue(
      store,
      of,
      [1, 1, 1, 1].map((userId) => ({ userId })),
    );
    await fillQueue(
      store,
      of,
      [2, 2].map((userId) => ({ userId })),
    );
    const order = (await send(store, of, 6)).map(({ entry }) => entry.userId);
    // Either task of a turn may go first.
    expect([order.slice(0, 2).sort(), order.slice(2, 4).sort(), order.slice(4)]).toEqual([
      [1, 2],
      [1, 2],
      [1, 1],
    ]);
    // A user who comes later begins at what is sent now, and not before it.
    await fillQueue(store, of, [{ userId: 1 }]);
    await fillQueue(store, of, [{ userId: 3 }]);
    const later = (await send(store, of, 2)).map(({ entry }) => [entry.userId, entry.turn]);
    expect(later.sort()).toEqual([
      [1, 5000],
      [3, 5000],
    ]);
  });

  test('a task that is sent has its channel, a lease and the time of its start, and waits no more', async () => {
    const { store } = opened();
    const of = newClass();
    const [taskId = ''] = await fillQueue(store, of, [{}]);
    expect(await countRows(store, of)).toMatchObject({ waiting: 1, bytes: 10, plugin: 'demo', model: 'demo-1' });
    expect(await store.tasks.claimInterrupted({ owner: 'other', limit: 9, leaseForMs: 1000 })).toEqual([]);
    const [taken] = await send(store, of, 5);
    expect(taken?.entry.request).toEqual({ prompt: 'a cat' });
    expect(taken?.task).toMatchObject({
      taskId,
      phase: 'sending',
      leaseOwner: 'node',
      channelId: 7,
      upstreamModel: 'up-1',
    });
    expect(taken?.task.dispatchedAtMs).toBeGreaterThan(Date.now() - 60_000);
    expect(await countRows(store, of)).toBeUndefined();
    expect(await store.tasks.renew(readLease(taken?.task as TakenWaiting['task']), 60_000)).toBe(true);
  });

  test('two nodes that claim at once never get the same task, and leave none', async () => {
    const { store, openAnother } = opened();
    const other = store.dialect === 'postgres' ? await openAnother() : store;
    const of = newClass();
    const ids = await fillQueue(
      store,
      of,
      Array.from({ length: 40 }, (_, index) => ({ userId: index % 5 })),
    );
    const taken: string[] = [];
    const claimAll = async (from: Store) => {
      for (let round = 0; round < 40; round += 1) {
        taken.push(...(await send(from, of, 3)).map(({ task }) => task.taskId));
      }
    };
    await Promise.all([claimAll(store), claimAll(other)]);
    expect(taken.sort()).toEqual(ids.sort());
    expect(await countRows(store, of)).toBeUndefined();
  });

  test('tasks put in line at once by two nodes get turns of their own', async () => {
    const { store, openAnother } = opened();
    const other = store.dialect === 'postgres' ? await openAnother() : store;
    const of = newClass();
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => fillQueue(index % 2 === 0 ? store : other, of, [{ userId: 9 }])),
    );
    const turns = (await send(store, of, 20)).map(({ entry }) => entry.turn);
    expect(turns).toEqual(Array.from({ length: 20 }, (_, index) => (index + 1) * 1000));
  });

  test('a task that comes back keeps its turn, waits for its pause, and is not walked over before', async () => {
    const { store } = opened();
    const of = newClass();
    await fillQueue(store, of, [{}, {}, {}]);
    const [first] = await send(store, of, 1);
    expect(await store.waiting.putBack(first as TakenWaiting, PAUSE)).toBe(true);
    expect(await store.tasks.byTaskId(first?.task.taskId ?? '')).toMatchObject({
      ...{ phase: 'waiting', channelId: 0, leaseOwner: null, dispatchedAtMs: 0 },
    });
    expect((await countRows(store, of))?.waiting).toBe(3);
    // A second time by who lost it: nothing.
    expect(await store.waiting.putBack(first as TakenWaiting, PAUSE)).toBe(false);
    const [second] = await send(store, of, 1);
    expect(second?.entry.turn).toBe(2000);
    await until('its pause is over', async () => (await store.waiting.wake()) > 0);
    const [again] = await send(store, of, 1);
    expect(again?.entry).toMatchObject({ taskId: first?.task.taskId, turn: 1000, returns: 1 });
  });

  test('a task that was cancelled while it was sent does not wait again', async () => {
    const { store } = opened();
    const of = newClass();
    const [taskId = ''] = await fillQueue(store, of, [{}]);
    expect(await store.waiting.requestCancel(taskId)).toBe(false);
    const [taken] = await send(store, of, 1);
    expect(await store.waiting.requestCancel(taskId)).toBe(true);
    expect(await store.waiting.putBack(taken as TakenWaiting, PAUSE)).toBe(false);
    expect((await store.tasks.byTaskId(taskId))?.phase).toBe('sending');
  });

  test('only one of those who end a waiting task wins', async () => {
    const { store, openAnother } = opened();
    const other = store.dialect === 'postgres' ? await openAnother() : store;
    const of = newClass();
    const [taskId = ''] = await fillQueue(store, of, [{}]);
    const end = (from: Store) =>
      from.transaction(async (tx) => {
        const taken = await tx.waiting.take([{ taskId }], LEASE);
        await tx.waiting.count(taken, { isSent: false });
        return taken.length;
      });
    const won = await Promise.all([end(store), end(other), end(store), end(other)]);
    expect(won.sort()).toEqual([0, 0, 0, 1]);
    expect(await countRows(store, of)).toBeUndefined();
  });

  test('a task that has waited for a quarter of the bound moves up, and the end of a wait is reported', async () => {
    const { store } = opened();
    const of = newClass();
    const [slow = '', other = ''] = await fillQueue(store, of, [{ forMs: HOUR - 1000 }, { forMs: HOUR }]);
    expect(await store.waiting.untilDue()).toBeLessThanOrEqual(HOUR / 4 - 250);
    expect(await store.waiting.age(9)).toEqual([]);
    expect(await countRows(store, of, 1)).toBeUndefined();
    await runRaw(opened(), `update waiting set due_at = 1 where task_id = '${slow}'`);
    expect(await store.waiting.age(9)).toEqual([]);
    expect((await countRows(store, of, 1))?.waiting).toBe(1);
    expect((await send(store, { ...of, priority: 1 }, 9)).map(({ task }) => task.taskId)).toEqual([slow]);
    const [late = ''] = await fillQueue(store, of, [{ forMs: 10 }]);
    const over = await until('a wait is over', async () => {
      const found = await store.waiting.age(9);
      return found.length > 0 && found;
    });
    expect(over.map(({ taskId }) => taskId)).toEqual([late]);
    expect((await send(store, of, 9)).map(({ task }) => task.taskId)).toContain(other);
  });

  test('a task that was parked moves up as the others do once it is released, and not before', async () => {
    const { store } = opened();
    const of = newClass();
    const [inserted = '', later = ''] = await fillQueue(store, of, [{ parked: 'user' }, {}]);
    const parks = [{ taskId: later, class: of.class, priority: 0, parked: 'key' as const }];
    await store.waiting.count([], { isSent: false, parks });
    const passed = HOUR / 4 + 1000;
    const earlier = `since = since - ${passed}, deadline = deadline - ${passed}`;
    await runRaw(opened(), `update waiting set ${earlier} where class = '${of.class}'`);
    expect(await store.waiting.age(9)).toEqual([]);
    expect(await countRows(store, of)).toMatchObject({ waiting: 2, parked: 2 });
    expect(await store.waiting.release([inserted, later])).toBe(2);
    expect(await store.waiting.age(9)).toEqual([]);
    expect(await countRows(store, of, 1)).toMatchObject({ waiting: 2, parked: 0 });
    // Only one quarter has passed.
    expect(await store.waiting.age(9)).toEqual([]);
    expect(await countRows(store, of, 2)).toBeUndefined();
  });

  test('tasks whose files only one node can read are left to it', async () => {
    const { store } = opened();
    const of = newClass();
    const [, ...rest] = await fillQueue(store, of, [{ node: 'folder' }, {}, { node: 'folder' }]);
    expect((await send(store, of, 9)).map(({ task }) => task.taskId)).toEqual([rest[0] ?? '']);
    const heads = await store.waiting.heads({ class: of.class, priority: 0, nodes: ['', 'folder'], limit: 9 });
    expect(heads).toHaveLength(2);
  });

  test('tasks of clients whose node is gone, and of users and channels that are, are found', async () => {
    const { store } = opened();
    const of = newClass();
    const [left = ''] = await fillQueue(store, of, [{ attached: 'dead' }, { attached: 'alive' }]);
    expect(await store.waiting.ofDeadNodes(['alive'], 9)).toEqual([left]);
    // Nobody has these numbers.
    expect(await store.waiting.findLost(99)).toContainEqual({ taskId: left, lost: 'caller' });
    const { id: userId } = await addUser(store);
    const [fine = ''] = await fillQueue(store, of, [{ userId }]);
    const [pinned = ''] = await fillQueue(store, { ...newClass(), channelId: 987 }, [{ userId }]);
    const lost = await store.waiting.findLost(99);
    expect(lost).toContainEqual({ taskId: pinned, lost: 'channel' });
    expect(lost.map(({ taskId }) => taskId)).not.toContain(fine);
  });

  test('turns that are passed and classes that are empty are removed', async () => {
    const { store } = opened();
    const of = newClass();
    await fillQueue(store, of, [{ userId: 41 }, { userId: 42 }]);
    await send(store, of, 9);
    expect(await store.waiting.sweep(1000)).toBeGreaterThan(1);
    await fillQueue(store, of, [{ userId: 41 }]);
    expect((await countRows(store, of))?.waiting).toBe(1);
    expect(await store.waiting.countByUser([41, 42])).toEqual(new Map([[41, 1]]));
  });
});
