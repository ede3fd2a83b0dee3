import { expect, test } from 'bun:test';
import type { NewTask, TaskChange, TaskListFilter, TaskRecord, TaskSort } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, describeEachStore, newTask, readLease } from './each-store.ts';

describeEachStore('the list of tasks', (opened) => {
  const propertiesFor = (input: string, model = 'm') => ({
    input,
    originModelName: model,
    upstreamModelName: 'secret',
  });

  async function addOwner() {
    const { store } = opened();
    const user = await addUser(store);
    const add = async (change: Partial<NewTask>, ending?: TaskChange): Promise<TaskRecord> => {
      const task = await store.tasks.insert(newTask({ userId: user.id, ...change }));
      if (ending) await store.tasks.advance(readLease(task), ending, null);
      return task;
    };
    const ids = async (filter: TaskListFilter, sort?: TaskSort) => {
      const page = { page: 1, pageSize: 10, ...(sort ? { sort } : {}) };
      return (await store.tasks.list({ userId: user.id, ...filter }, page)).items.map(({ id }) => id);
    };
    return { store, user, add, ids };
  }

  test('lists newest first, by every filter, and text literally', async () => {
    const { store, user, add, ids } = await addOwner();
    const key = await addKey(store, user.id);
    const properties = propertiesFor('50% of a "Dog"\n\\ path', 'Model-1');
    const first = await add({ platform: 'p1', channelId: 55, apiKeyId: key.id, createdAt: 50, properties });
    const second = await add({ platform: 'p2' }, { status: 'SUBMITTED', submitTime: 200 });
    expect(await ids({})).toEqual([second.id, first.id]);
    const found: [TaskListFilter, TaskRecord[]][] = [
      [{ status: 'SUBMITTED' }, [second]],
      [{ status: 'nonsense' }, []],
      [{ platform: 'p1' }, [first]],
      [{ channelId: 55 }, [first]],
      [{ apiKeyId: key.id }, [first]],
      [{ model: 'Model-1' }, [first]],
      [{ model: 'model-1' }, []],
      [{ since: 51 }, [second]],
      [{ until: 50 }, [first]],
      [{ since: 50, until: 100 }, [second, first]],
      [{ query: '50% OF A "DOG"' }, [first]],
      [{ query: 'dog"\n\\' }, [first]],
      [{ query: '50_' }, []],
      [{ query: 'model-1' }, [first]],
      [{ query: second.taskId }, [second]],
      [{ query: '\0' }, []],
      // Names of members, and what only administrators know, are not part of the prompt.
      [{ query: 'originModelName' }, []],
      [{ query: 'secret' }, []],
    ];
    for (const [filter, tasks] of found) {
      expect([filter, await ids(filter)]).toEqual([filter, tasks.map(({ id }) => id)]);
    }
    expect(await store.tasks.list({ userId: user.id }, { page: 2, pageSize: 1 })).toMatchObject({
      ...{ total: 2, hasMore: false, searched: null },
      items: [{ id: first.id, username: user.username, keyName: key.name, channelName: null }],
    });
    expect((await store.tasks.list({ userId: user.id }, { page: 3, pageSize: 1 })).items).toEqual([]);
  });

  test('follows what becomes of a task: its end, its channel, its bill, its deletion', async () => {
    const { store, user, add, ids } = await addOwner();
    const cheap = await add({ createdAt: 100, quota: 9 });
    await store.tasks.advance(
      readLease(cheap),
      { channelId: 7, status: 'SUCCESS', submitTime: 110, finishTime: 400, quota: 5 },
      null,
    );
    const failReason = `${'no '.repeat(80)}end`;
    const dear = await add({ quota: 8 }, { status: 'FAILURE', submitTime: 100, finishTime: 130, failReason });
    expect(await ids({ channelId: 7, status: 'SUCCESS' })).toEqual([cheap.id]);
    expect(await ids({}, 'oldest')).toEqual([cheap.id, dear.id]);
    expect(await ids({}, 'cost')).toEqual([dear.id, cheap.id]);
    expect(await ids({}, 'duration')).toEqual([cheap.id, dear.id]);
    expect(await ids({ failReason: failReason.slice(0, 200) })).toEqual([dear.id]);
    expect(await ids({ query: 'a cat' }, 'cost')).toEqual([dear.id, cheap.id]);
    const { execution, properties } = dear;
    await store.tasks.hide({
      taskId: dear.taskId,
      userId: user.id,
      execution,
      properties: { ...properties, input: '' },
    });
    expect(await ids({ hidden: false })).toEqual([cheap.id]);
    expect(await ids({})).toEqual([dear.id, cheap.id]);
    await store.retention.deleteTasks([dear.id]);
    expect(await ids({})).toEqual([cheap.id]);
  });

  test('a feed goes on where it ended, whatever is added or deleted in the meantime', async () => {
    const { store, user, add } = await addOwner();
    const other = await addUser(store);
    const tasks: TaskRecord[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) tasks.push(await add({ properties: propertiesFor(`task ${name}`) }));
    const stranger = await store.tasks.insert(newTask({ userId: other.id }));
    const read = async (order: 'asc' | 'desc', filter: TaskListFilter = {}, after?: string) => {
      const part = { limit: 2, order, ...(after ? { after } : {}) };
      const feed = await store.tasks.feed({ userId: user.id, ...filter }, part);
      return feed && { inputs: feed.items.map(({ properties }) => properties.input.at(-1)).join(''), next: feed.next };
    };
    const idFor = (index: number) => tasks[index]?.taskId ?? '';
    const start = await read('desc');
    expect(start).toEqual({ inputs: 'ed', next: idFor(3) });
    await add({ properties: propertiesFor('task f') });
    expect(await read('desc', {}, idFor(3))).toEqual({ inputs: 'cb', next: idFor(1) });
    expect(await read('desc', {}, idFor(1))).toEqual({ inputs: 'a', next: null });
    expect(await read('asc', { query: 'TASK' })).toEqual({ inputs: 'ab', next: idFor(1) });
    expect(await read('asc', { query: 'task d' })).toEqual({ inputs: 'd', next: null });
    expect(await read('desc', {}, 'task_unknown')).toBeUndefined();
    expect(await read('desc', {}, stranger.taskId)).toBeUndefined();
  });

  test('failures are counted by their reason and channel, the most frequent first', async () => {
    const { store, user, add } = await addOwner();
    const ended = { status: 'FAILURE', finishTime: 200 } as const;
    const sentence = { reason: 'plugin', params: { text: 'blocked' } };
    for (const text of ['blocked', 'no balance']) await add({}, { ...ended, failReason: text });
    await add({}, { ...ended, failReason: 'blocked', failReasonSentence: sentence });
    await add(
      { platform: 'p2', channelId: 9, properties: propertiesFor('a dog') },
      { ...ended, failReason: 'no balance' },
    );
    await add({}, { status: 'SUCCESS', finishTime: 200 });
    const count = (filter: TaskListFilter, limit = 10) =>
      store.tasks.failureReasons({ userId: user.id, ...filter }, limit);
    const on = (channelId: number, failed: number) => ({ channelId, count: failed });
    expect(await count({})).toEqual([
      { reason: 'blocked', sentence, count: 2, channels: [on(1, 2)] },
      { reason: 'no balance', sentence: null, count: 2, channels: [on(1, 1), on(9, 1)] },
    ]);
    expect(await count({ platform: 'demo' }, 1)).toEqual([
      { reason: 'blocked', sentence, count: 2, channels: [on(1, 2)] },
    ]);
    expect(await count({ query: 'dog' })).toEqual([
      { reason: 'no balance', sentence: null, count: 1, channels: [on(9, 1)] },
    ]);
  });

  test('the latest success of each model is found, of one user or of all', async () => {
    const { store, user, add } = await addOwner();
    const other = await addUser(store);
    const made = { status: 'SUCCESS', finishTime: 200 } as const;
    const [bird, cat] = [propertiesFor('a boat', 'bird'), propertiesFor('a boat', 'cat')];
    const old = await add({ properties: bird }, made);
    await add({ properties: cat }, made);
    const latest = await add({ properties: cat }, made);
    await add({ properties: cat }, { status: 'FAILURE', finishTime: 200 });
    await add({ properties: bird });
    const { taskId, execution, properties } = await add({ properties: bird }, made);
    await store.tasks.hide({ taskId, userId: user.id, execution, properties });
    const foreign = await add({ userId: other.id, properties: bird }, made);
    const read = async (filter: { userId?: number }, sought: string[] = []) => {
      const found = await store.tasks.latestSuccesses(filter, new Set(sought));
      return found.map(({ id }) => id);
    };
    expect(await read({ userId: user.id })).toEqual([latest.id, old.id]);
    expect(await read({ userId: user.id }, ['demo\nunknown'])).toEqual([latest.id, old.id]);
    expect(await read({ userId: other.id })).toEqual([foreign.id]);
    expect((await read({})).slice(0, 2)).toEqual([foreign.id, latest.id]);
  });
});
