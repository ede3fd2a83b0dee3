/** A database with one process: its deadlines are as far away as when they were written. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { nextTurn, quoted, randomAlnum, silentLogger } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { followClock } from '../../src/store/sqlite/follow-clock.ts';
import { addRunningTask, NEW_WAITING, newTask, readLease } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { createMovableClock, type MovableClock } from '../support/movable-clock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const CLAIM = { owner: 'node', limit: 9, leaseForMs: MINUTE };
const NOBODY = { hosts: [], users: [], userHosts: [] };

let store: Store;
let clock: MovableClock;
let dataDir: string;

const open = () =>
  openStore({ databaseUrl: '', dataDir, synchronous: 'NORMAL', clock, logger: silentLogger, exclusive: true });

beforeEach(async () => {
  dataDir = temporaryFolder();
  clock = createMovableClock();
  store = await open();
});
afterEach(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Sets the clock, and waits until the deadlines have moved with it. */
async function setClock(byMs: number): Promise<void> {
  clock.set(byMs);
  await until('the deadlines have moved', async () => Math.abs((await store.clock.nowMs()) - clock.nowMs()) < 1000);
}

/** Something of each kind that waits for a minute, and is given up after a day. */
async function addWaiting() {
  const webhook = {
    ...{ eventId: `msg_${randomAlnum(27)}`, userId: 1, apiKeyId: 1, taskId: 't', event: 'task.finished' as const },
    ...{ host: 'a.example', url: 'https://a.example/', payload: {}, createdAt: 1 },
  };
  await store.webhooks.putFinish(webhook, 24 * HOUR);
  const [sent] = await store.webhooks.claim({ ...CLAIM, exclude: NOBODY });
  const delivery = { at: 1, httpStatus: 500, durationMs: 7, error: '' };
  const notice = { id: sent?.id ?? 0, leaseOwner: 'node', leaseSeq: sent?.leaseSeq ?? 0 };
  await store.webhooks.settle(notice, { status: 'retry', inMs: MINUTE }, delivery);

  await store.results.schedule([{ taskId: 't', artifactKey: 'a', userId: 1, kind: 'video', createdAt: 1 }], 24 * HOUR);
  const [copy] = await store.results.claim(CLAIM);
  const held = { id: copy?.id ?? 0, leaseOwner: 'node', leaseSeq: copy?.leaseSeq ?? 0 };
  await store.results.postpone(held, { inMs: MINUTE, reason: quoted('busy') });

  const task = await addRunningTask(store);
  const [due] = await store.tasks.claimDue({ ...CLAIM, exceptChannels: [] });
  expect(due?.taskId).toBe(task.taskId);
  await store.tasks.advance(readLease(due ?? task), { polls: 1 }, MINUTE);
}

const claimAll = async () => [
  (await store.webhooks.claim({ ...CLAIM, exclude: NOBODY })).length,
  (await store.results.claim(CLAIM)).length,
  (await store.tasks.claimDue({ ...CLAIM, exceptChannels: [] })).length,
];

for (const hours of [1, 8, 365 * 24]) {
  test(`after the clock was set back by ${hours} h, all is due when it would have been`, async () => {
    await addWaiting();
    await setClock(-hours * HOUR);
    expect(await claimAll()).toEqual([0, 0, 0]);
    clock.pass(MINUTE);
    expect(await claimAll()).toEqual([1, 1, 1]);
  });
}

test('after the clock was set ahead by a year, or a suspend, nothing is given up too early', async () => {
  await addWaiting();
  await setClock(365 * 24 * HOUR);
  clock.pass(MINUTE);
  const [webhook] = await store.webhooks.claim({ ...CLAIM, exclude: NOBODY });
  const [copy] = await store.results.claim(CLAIM);
  const delivery = { at: 1, httpStatus: 500, durationMs: 7, error: '' };
  const notice = { id: webhook?.id ?? 0, leaseOwner: 'node', leaseSeq: webhook?.leaseSeq ?? 0 };
  await store.webhooks.settle(notice, { status: 'retry', inMs: MINUTE }, delivery);
  await store.results.postpone({ ...notice, id: copy?.id ?? 0, leaseSeq: copy?.leaseSeq ?? 0 }, { inMs: 1 });
  expect((await store.webhooks.byEventId('t', webhook?.eventId ?? ''))?.status).toBe('pending');
  expect((await store.results.find('t', 'a'))?.state).toBe('pending');
  // And back again: still a minute.
  await setClock(-365 * 24 * HOUR);
  expect(await store.webhooks.claim({ ...CLAIM, exclude: NOBODY })).toEqual([]);
  clock.pass(MINUTE);
  expect(await store.webhooks.claim({ ...CLAIM, exclude: NOBODY })).toHaveLength(1);
});

test('tasks in line wait, rest and end after as long as they should, whichever way the clock was set', async () => {
  const waits = { channelId: 0, phase: 'waiting' as const, leaseOwner: null, leaseForMs: 0 };
  const { taskId } = await store.tasks.insert(newTask(waits));
  await store.waiting.put([{ ...NEW_WAITING, taskId }]);
  const send = () =>
    store.transaction(async (tx) => {
      const taken = await tx.waiting.take(
        [{ taskId, sending: { channelId: 1, credentialId: 1, upstreamModel: 'm', slots: 1 } }],
        CLAIM,
      );
      await tx.waiting.count(taken, { isSent: true });
      return taken;
    });
  const [taken] = await send();
  if (!taken) throw new Error('it does not wait');
  await store.waiting.putBack(taken, { waitMs: MINUTE, counts: true });
  for (const byMs of [-8 * HOUR, 365 * 24 * HOUR]) {
    await setClock(byMs);
    expect(await store.waiting.age(9)).toEqual([]);
    if (byMs < 0) expect(await store.waiting.wake()).toBe(0);
  }
  clock.pass(MINUTE);
  expect(await store.waiting.wake()).toBe(1);
  clock.pass(HOUR);
  expect((await store.waiting.age(9)).map((place) => place.taskId)).toEqual([taskId]);
});

test('starts count for a declared rate as long as they should, whichever way the clock was set', async () => {
  await store.tasks.insert(newTask({ channelId: 1, countsStart: true }));
  const accounts = [{ channelId: 1, credentialId: 0 }];
  const asked = { accounts, model: '', starts: true, relaysExcept: undefined };
  const countStarts = async () => (await store.capacity.count([asked], MINUTE)).scopes[0]?.startsMs.length;
  for (const byMs of [-8 * HOUR, 10 * MINUTE, -10 * MINUTE]) {
    await setClock(byMs);
    expect(await countStarts()).toBe(1);
  }
  clock.pass(MINUTE);
  expect(await countStarts()).toBe(0);
});

test('a locked second factor stays locked as long as it should, whichever way the clock was set', async () => {
  const { id } = await addUser(store);
  await store.twoFactor.begin({ userId: id, secretSealed: 's', createdAt: 1 });
  await store.twoFactor.enable(id, 's', 1);
  const attempt = () => store.twoFactor.countAttempt(id, { now: clock.unix(), limit: 1, lockSeconds: 300 });
  for (const byMs of [-8 * HOUR, -4 * MINUTE, 31_000, 8 * HOUR]) {
    await store.twoFactor.clearAttempts(id);
    expect(await attempt()).toBe(1);
    await setClock(byMs);
    clock.pass(4 * MINUTE);
    expect(await attempt()).toBeUndefined();
    clock.pass(MINUTE + 2000);
    expect(await attempt()).toBe(2);
  }
});

test('what is written in the moment after the clock was set lasts as long as it should', async () => {
  const { id } = await addUser(store);
  await store.twoFactor.begin({ userId: id, secretSealed: 's', createdAt: 1 });
  await store.twoFactor.enable(id, 's', 1);
  const attempt = () => store.twoFactor.countAttempt(id, { now: clock.unix(), limit: 1, lockSeconds: 300 });
  clock.set(-8 * HOUR);
  expect(await attempt()).toBe(1);
  await setClock(0);
  clock.pass(4 * MINUTE);
  expect(await attempt()).toBeUndefined();
  clock.pass(MINUTE + 2000);
  expect(await attempt()).toBe(2);
});

test('what is queued behind the move of the deadlines is due when it should be', async () => {
  await store.results.schedule([{ taskId: 't', artifactKey: 'a', userId: 1, kind: 'video', createdAt: 1 }], 24 * HOUR);
  const [copy] = await store.results.claim(CLAIM);
  const held = { id: copy?.id ?? 0, leaseOwner: 'node', leaseSeq: copy?.leaseSeq ?? 0 };
  clock.set(-HOUR);
  // The first look at the clock queues the move.
  const looked = store.clock.nowMs();
  await store.results.postpone(held, { inMs: MINUTE, reason: quoted('busy') });
  await looked;
  clock.pass(MINUTE);
  expect(await store.results.claim(CLAIM)).toHaveLength(1);
});

test('deadlines that cannot be moved are tried again after a pause', async () => {
  const moves: number[] = [];
  const followed = followClock(clock, silentLogger, async (byMs) => {
    moves.push(byMs);
    throw new Error('disk full');
  });
  clock.set(HOUR);
  for (let look = 0; look < 5; look += 1) {
    followed.nowMs();
    await nextTurn();
  }
  expect(moves).toHaveLength(1);
  clock.pass(5000);
  followed.nowMs();
  expect(moves).toHaveLength(2);
});

test('a process that dies before its deadlines have moved leaves none that waits for hours', async () => {
  await addWaiting();
  await store.close();
  clock = createMovableClock();
  clock.set(-8 * HOUR);
  store = await open();
  expect(await claimAll()).toEqual([1, 1, 0]);
  expect(await store.tasks.pullForwardDueTimes(5 * MINUTE)).toBe(1);
  expect((await store.tasks.claimDue({ ...CLAIM, exceptChannels: [] })).length).toBe(1);
});

for (const hours of [1, 8])
  test(`a clock set back by ${hours} h between two processes lengthens no wait, rest or abandoned slot`, async () => {
    const waits = { channelId: 0, phase: 'waiting' as const, leaseOwner: null, leaseForMs: 0 };
    const { taskId } = await store.tasks.insert(newTask(waits));
    await store.waiting.put([{ ...NEW_WAITING, taskId }]);
    await holdSlot();
    const key = { pool: 'channel:1', model: 'm' };
    await store.capacity.beginRest(key, { generation: 0, reason: 'rate', step: 1, forMs: HOUR }, null);
    await store.close();
    clock = createMovableClock();
    clock.set(-hours * HOUR);
    store = await open();
    expect(await store.waiting.age(9)).toEqual([]);
    expect((await store.waiting.age(9, { looksAtAll: true })).map((place) => place.taskId)).toEqual([taskId]);
    expect(await countAbandoned()).toBe(0);
    expect(await store.capacity.all()).toMatchObject([{ ...key, restingForMs: 0 }]);
  });

test('an abandoned slot and a rest last as long as they should, whichever way the clock was set', async () => {
  const key = { pool: 'channel:1', model: 'm' };
  await store.capacity.beginRest(key, { generation: 0, reason: 'rate', step: 1, forMs: 10 * MINUTE }, null);
  await holdSlot();
  for (const byMs of [-8 * HOUR, -4 * MINUTE]) {
    await setClock(byMs);
    clock.pass(4 * MINUTE);
    expect(await countAbandoned()).toBe(1);
    expect((await store.capacity.all())[0]?.restingForMs).toBeGreaterThan(0);
  }
  clock.pass(2 * MINUTE + 2000);
  expect(await countAbandoned()).toBe(0);
  expect((await store.capacity.all())[0]?.restingForMs).toBe(0);
});

/** Ends a task whose slot stays taken for ten minutes. */
async function holdSlot(): Promise<void> {
  const task = await store.tasks.insert(newTask({ upstreamModel: 'm' }));
  const slotUntil = Math.floor((await store.clock.nowMs()) / 1000) + 600;
  await store.tasks.advance(readLease(task), { status: 'FAILURE', slotUntil }, null);
}

async function countAbandoned(): Promise<number | undefined> {
  const accounts = [{ channelId: newTask().channelId, credentialId: 0 }];
  const { scopes } = await store.capacity.count([{ accounts, model: 'm', starts: false }], MINUTE);
  return scopes[0]?.abandoned;
}
