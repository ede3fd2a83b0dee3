import { expect, test } from 'bun:test';
import { type CapacityService, createCapacity, RELAY_TYPE } from '../../src/channels/index.ts';
import { newTaskId, silentLogger, systemClock, systemRandom } from '../../src/kernel/index.ts';
import type { ChannelRecord, NewTask, Store } from '../../src/store/ports/index.ts';
import { channel as newRow } from '../plugins/records.ts';
import { toAccount, toAccounts } from '../support/accounts.ts';
import { describeEachStore, newRelay, newTask, type OpenedStore } from './each-store.ts';
import { runRaw } from './open-raw.ts';

let channels = 1000;
const AT_ONCE = 24;
const sealed = { keySealed: 'v1.a', keyHint: '1234', createdAt: 1, updatedAt: 1 };

function suite(opened: () => OpenedStore): void {
  /** Two nodes; SQLite has one, which works twice at once. */
  let second: Store | undefined;
  const openNodes = async (): Promise<[Store, Store]> => {
    const { store, openAnother } = opened();
    second ??= store.dialect === 'sqlite' ? store : await openAnother();
    return [store, second];
  };
  const newChannel = (change: Partial<ChannelRecord> = {}): ChannelRecord => {
    channels += 1;
    return {
      ...{ id: channels, name: 'vendor', type: 61, baseUrl: 'https://vendor.example' },
      ...{ models: ['m'], groups: ['default'], priority: 0, weight: 1, modelMapping: {}, taskPluginKey: 'demo' },
      ...{
        settings: {},
        status: 1,
        usedQuota: 0,
        createdAt: 1,
        updatedAt: 1,
        limits: null,
        pool: '',
        spill: true,
        proxySealed: null,
        headersSealed: null,
        bodyDefaults: null,
      },
      ...change,
    };
  };
  const createNode = (
    store: Store,
    known: ChannelRecord[] | (() => ChannelRecord[]),
    accounts = toAccounts(typeof known === 'function' ? known : () => known),
  ): CapacityService =>
    createCapacity({
      ...{
        store,
        clock: systemClock,
        random: systemRandom,
        logger: silentLogger,
        accounts,
      },
      nodeId: 'node',
      syncFrequencyMs: 60_000,
    });
  const task = (channelId: number, change: Partial<NewTask> = {}): NewTask =>
    newTask({ taskId: newTaskId(Date.now()), channelId, upstreamModel: 'm', ...change });

  /** Submits on both nodes at once, each in a transaction of its own. Returns which began. */
  async function submitAtOnce(known: ChannelRecord[], change: Partial<NewTask> = {}): Promise<string[]> {
    const nodes = (await openNodes()).map((store) => ({ store, capacity: createNode(store, known) }));
    const begun = await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, index) => {
        const { store, capacity } = nodes[index % 2] as (typeof nodes)[number];
        const scope = capacity.scope(toAccount(known[index % known.length] as ChannelRecord), 'm');
        return store.transaction(async (tx) => {
          const locked = await capacity.lockSlots(tx, [scope]);
          const row = task(scope.channelId, { countsStart: true, ...change });
          const taken = await locked.take(scope, { taskId: row.taskId, slots: row.slots ?? 1, userId: 1 });
          if (taken) await tx.tasks.insert(row);
          return taken?.taskId;
        });
      }),
    );
    return begun.flatMap((taskId) => taskId ?? []);
  }

  test('two nodes that start at once never exceed what a channel declares', async () => {
    const known = [newChannel({ limits: { maxRunning: 5 } })];
    expect(await submitAtOnce(known)).toHaveLength(5);
    expect(await submitAtOnce(known)).toHaveLength(0);
  });

  test('nor what channels of one pool declare for all of them, and for a model', async () => {
    const pool = `pool ${channels}`;
    const known = [newChannel({ pool, limits: { maxRunning: 7 } }), newChannel({ pool, limits: { maxRunning: 9 } })];
    expect(await submitAtOnce(known)).toHaveLength(7);
    const models = { m: { maxRunning: 3 } };
    expect(await submitAtOnce([newChannel({ limits: { maxRunning: 10, models } })])).toHaveLength(3);
  });

  test('a task takes as many slots as it says', async () => {
    const known = [newChannel({ limits: { maxRunning: 5 } })];
    expect(await submitAtOnce(known, { slots: 2 })).toHaveLength(2);
  });

  test('starts are spaced over the minute, but for a declared burst', async () => {
    expect(await submitAtOnce([newChannel({ limits: { maxPerMinute: 10 } })])).toHaveLength(1);
    expect(await submitAtOnce([newChannel({ limits: { maxPerMinute: 10, burst: 4 } })])).toHaveLength(4);
    expect(await submitAtOnce([newChannel({ limits: { maxPerMinute: 3, burst: 3 } })])).toHaveLength(3);
  });

  test('a start that its vendor refused counts for the minute, though its task waits again', async () => {
    const { store } = opened();
    const channel = newChannel({ limits: { maxPerMinute: 3, burst: 3 } });
    const node = createNode(store, [channel]);
    const scope = node.scope(toAccount(channel), 'm');
    let sent = 0;
    const start = () =>
      store.transaction(async (tx) => {
        const locked = await node.lockSlots(tx, [scope]);
        sent += 1;
        return locked.take(scope, { taskId: `task_${sent}`, slots: 1, userId: 1 });
      });
    // While one runs, a refusal rests nobody.
    node.accepted(node.begin(scope, { taskId: 'runs', slots: 1, userId: 1 }));
    for (let times = 0; times < 3; times += 1) {
      const dispatch = await start();
      if (!dispatch) return expect.unreachable();
      node.refused(dispatch, { kind: 'capacity' });
    }
    expect(await start()).toBeUndefined();
  });

  test('an ended task whose vendor may run it takes its slot until it is over, or is cleared', async () => {
    const { store, databaseUrl, dataDir } = opened();
    const channel = newChannel({ limits: { maxRunning: 2 } });
    const [first] = await submitAtOnce([channel]);
    const until = systemClock.unix() + 600;
    const end = `update tasks set status = 'FAILURE', slot_until = ${until} where task_id = '${first}'`;
    await runRaw({ databaseUrl, dataDir }, end);
    expect(await submitAtOnce([channel])).toHaveLength(0);
    const node = createNode(store, [channel]);
    await node.recount();
    expect(node.describe(channel)).toMatchObject({ running: 1, abandoned: 1, limit: 2, learned: false });
    expect(await node.clearAbandoned(channel)).toBe(1);
    expect(node.describe(channel)).toMatchObject({ running: 1, abandoned: 0 });
    expect(await submitAtOnce([channel])).toHaveLength(1);
  });

  test('a deleted channel of a pool leaves its slots to the pool until its vendor is done', async () => {
    const { store, databaseUrl, dataDir } = opened();
    const pool = `pool ${channels}`;
    const limits = { maxRunning: 2 };
    let known = [newChannel({ pool, limits }), newChannel({ pool, limits })];
    const [left, deleted] = known as [ChannelRecord, ChannelRecord];
    const node = createNode(store, () => known);
    const scope = node.scope(toAccount(left), 'm');
    const row = task(deleted.id);
    await store.tasks.insert(row);
    await node.recount();
    expect(node.freeSlots(scope)).toBe(1);
    const end = `update tasks set status = 'FAILURE', slot_until = ${systemClock.unix() + 600} where task_id = '${row.taskId}'`;
    await runRaw({ databaseUrl, dataDir }, end);
    known = [left];
    const free = await store.transaction(async (tx) => (await node.lockSlots(tx, [scope])).left(scope));
    await node.recount();
    expect([free, node.freeSlots(scope)]).toEqual([1, 1]);
    expect(await node.clearAbandoned(left)).toBe(1);
    expect(node.freeSlots(scope)).toBe(2);
  });

  test('so it does after a restart, for a channel or a credential that names the pool', async () => {
    const { store } = opened();
    const pool = `pool of ${newTaskId(Date.now())}`;
    const left = newChannel({ pool, limits: { maxRunning: 3 } });
    const addDeleted = async (named: { channel?: string; credential?: string }) => {
      const { id } = await store.channels.insert(newRow({ pool: named.channel ?? '' }));
      const rows = [{ ...sealed, channelId: id, pool: named.credential ?? '' }];
      const [credential] = await store.credentials.insert(rows);
      await store.tasks.insert(task(id, { credentialId: credential?.id ?? 0 }));
      await store.channels.delete(id, 1);
    };
    await addDeleted({ channel: pool });
    await addDeleted({ credential: pool });
    await addDeleted({});
    const node = createNode(store, [left]);
    await node.start();
    const scope = node.scope(toAccount(left), 'm');
    const free = await store.transaction(async (tx) => (await node.lockSlots(tx, [scope])).left(scope));
    expect([free, node.freeSlots(scope)]).toEqual([1, 1]);
    node.stop();
  });

  test('open requests that another node relays take slots from the tasks of their pool', async () => {
    const { store } = opened();
    const pool = `pool ${channels}`;
    const relayed = newChannel({ pool, type: RELAY_TYPE });
    const known = [newChannel({ pool, limits: { maxRunning: 3 } }), relayed];
    await store.relays.open(newRelay({ channelId: relayed.id, leaseOwner: 'another' }));
    // Its node has died, and its lease is over.
    await store.relays.open(newRelay({ channelId: relayed.id, leaseOwner: 'another', leaseForMs: 0 }));
    const node = createNode(store, known);
    await node.recount();
    const scope = node.scope(toAccount(relayed), 'm');
    expect(node.freeRelaySlots(scope)).toBe(2);
    const leave = node.beginRelay(scope);
    expect(node.freeRelaySlots(scope)).toBe(1);
    const left = () => store.transaction(async (tx) => (await node.lockSlots(tx, [scope])).left(scope));
    expect(await left()).toBe(1);
    leave();
    expect([await left(), node.freeRelaySlots(scope)]).toEqual([2, 2]);
  });

  test('after a rest, one task on all nodes is the trial, and the next one if it proved nothing', async () => {
    const [store, other] = await openNodes();
    const channel = newChannel();
    const key = { pool: `#${channel.id}`, model: 'm' };
    expect(await store.capacity.beginRest(key, { generation: 0, reason: 'rate', step: 1, forMs: 60_000 }, null)).toBe(
      true,
    );
    const claim = (generation: number, row: NewTask, on = store) =>
      on.transaction(async (tx) => {
        await tx.capacity.lock([key]);
        await tx.tasks.insert(row);
        return tx.capacity.claimTrial(key, { generation, taskId: row.taskId });
      });
    expect(await claim(1, task(channel.id))).toBe(false);
    expect(await store.capacity.beginRest(key, { generation: 1, reason: 'rate', step: 2, forMs: 0 }, null)).toBe(true);
    const rows = Array.from({ length: AT_ONCE }, () => task(channel.id));
    const claims = await Promise.all(rows.map((row, index) => claim(2, row, index % 2 === 0 ? store : other)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    const trial = rows[claims.indexOf(true)] as NewTask;
    expect(await claim(2, task(channel.id))).toBe(false);
    const { databaseUrl, dataDir } = opened();
    await runRaw({ databaseUrl, dataDir }, `update tasks set status = 'FAILURE' where task_id = '${trial.taskId}'`);
    expect(await claim(1, task(channel.id))).toBe(false);
    expect(await claim(2, task(channel.id))).toBe(true);
    expect(await store.capacity.endRest(key, 1, null)).toBe(false);
    expect(await store.capacity.endRest(key, 2, null)).toBe(true);
    expect(await store.capacity.endRest(key, 2, null)).toBe(false);
  });

  test('events of rests are written with them, and the newest fifty of each reason are kept', async () => {
    const [store] = await openNodes();
    const { id: channelId } = newChannel();
    const key = { pool: `#${channelId}/7`, model: '' };
    const event = { channelId, credentialId: 7, model: '', reason: 'credential', what: 'rested' as const };
    const rest = { reason: 'credential', step: 1, forMs: 60_000 };
    expect(await store.capacity.beginRest(key, { ...rest, generation: 0 }, event)).toBe(true);
    // Another node was faster.
    expect(await store.capacity.beginRest(key, { ...rest, generation: 0 }, event)).toBe(false);
    expect(await store.capacity.endRest(key, 0, { ...event, what: 'back' })).toBe(false);
    expect(await store.capacity.endRest(key, 1, { ...event, what: 'back' })).toBe(true);
    const shared = { pool: `shared by ${channelId}`, model: 'm' };
    const rate = { ...event, credentialId: 0, model: 'm', reason: 'rate' };
    for (let generation = 0; generation < 60; generation += 1)
      await store.capacity.beginRest(shared, { reason: 'rate', step: 1, forMs: 0, generation }, rate);
    // A name that PostgreSQL cannot hold must not keep the rest from being stored.
    const odd = { pool: `odd ${channelId}`, model: 'a\0b' };
    const oddRest = { reason: 'model', step: 1, forMs: 0, generation: 0 };
    expect(await store.capacity.beginRest(odd, oddRest, { ...event, model: odd.model, reason: 'model' })).toBe(true);
    expect(await store.capacity.wake([key.pool, shared.pool], channelId)).toBe(1);
    const events = await store.capacity.restEvents(channelId, 100);
    const credential = events.filter(({ reason }) => reason === 'credential');
    expect(credential.map(({ what, until, at }) => [what, until > at])).toEqual([
      ['back', false],
      ['rested', true],
    ]);
    expect(events[0]).toMatchObject({ ...rate, what: 'resumed', until: 0 });
    expect(events).toHaveLength(53);
    await store.channels.delete(channelId, 1);
    expect(await store.capacity.restEvents(channelId, 100)).toEqual([]);
  });

  test('only one of two nodes begins a rest after the same one, and a wake is newer than both', async () => {
    const [store, other] = await openNodes();
    const key = { pool: `#${newChannel().id}`, model: 'm' };
    const rest = { generation: 0, reason: 'capacity', step: 1, forMs: 60_000 };
    const begun = await Promise.all(
      [store, other, store, other].map((node) => node.capacity.beginRest(key, rest, null)),
    );
    expect(begun.filter(Boolean)).toHaveLength(1);
    expect(await store.capacity.wake([key.pool], 0)).toBe(1);
    expect(await store.capacity.beginRest(key, { ...rest, generation: 1 }, null)).toBe(false);
    expect((await store.capacity.all()).find(({ pool }) => pool === key.pool)).toMatchObject({
      ...{ restingForMs: 0, restReason: '', restGeneration: 2, ceiling: 0 },
    });
  });

  test('a ceiling is written by the node that knew the one before, and cleared by hand', async () => {
    const [store, other] = await openNodes();
    const channel = newChannel();
    const key = { pool: `#${channel.id}`, model: 'm' };
    const put = (node: Store, before: number, after: number) =>
      node.capacity.putCeiling(key, { before, after, reason: 'refused' });
    const written = await Promise.all([put(store, 0, 5), put(other, 0, 6), put(store, 0, 7)]);
    expect(written.filter(Boolean)).toHaveLength(1);
    const node = createNode(store, [channel]);
    await node.start();
    const scope = node.scope(toAccount(channel), 'm');
    expect(node.freeSlots(scope)).toBe([5, 6, 7][written.indexOf(true)] as number);
    expect(await node.clearCeilings(channel)).toBe(1);
    expect(node.freeSlots(scope)).toBe(4);
    node.stop();
    // That of a pool that only a credential names is reached too.
    const own = { ...toAccount(channel).credential, pool: 'shared' };
    const named = createNode(store, [channel], () => [{ channel, credential: own }]);
    await named.start();
    await store.capacity.putCeiling({ pool: 'shared', model: 'm' }, { before: 0, after: 9, reason: 'refused' });
    expect(await named.clearCeilings(channel)).toBe(1);
    named.stop();
  });

  test('a node counts what runs on all of them, and loses no slot that another ends', async () => {
    const [store, other] = await openNodes();
    const channel = newChannel();
    const node = createNode(store, [channel]);
    const scope = node.scope(toAccount(channel), 'm');
    const rows = Array.from({ length: 3 }, () => task(channel.id));
    for (const row of rows) {
      node.begin(scope, { taskId: row.taskId, slots: 1, userId: 1 });
      await store.tasks.insert(row);
    }
    expect(node.freeSlots(scope)).toBe(1);
    await node.recount();
    expect(node.freeSlots(scope)).toBe(1);
    const foreign = task(channel.id);
    await other.tasks.insert(foreign);
    await node.recount();
    expect(node.freeSlots(scope)).toBe(0);
    node.end({ taskId: foreign.taskId, channelId: channel.id, credentialId: null, upstreamModel: 'm', slots: 1 });
    node.end({ taskId: foreign.taskId, channelId: channel.id, credentialId: null, upstreamModel: 'm', slots: 1 });
    expect(node.freeSlots(scope)).toBe(1);
    const { databaseUrl, dataDir } = opened();
    await runRaw({ databaseUrl, dataDir }, `update tasks set status = 'FAILURE' where task_id = '${foreign.taskId}'`);
    await node.recount();
    expect(node.freeSlots(scope)).toBe(1);
  });
}

describeEachStore('capacity', suite);
