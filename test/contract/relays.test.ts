import { expect, test } from 'bun:test';
import { newRelayId, newTaskId } from '../../src/kernel/index.ts';
import type { RelayObject, RelayPartKind, Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { until } from '../support/until.ts';
import { describeEachStore, newRelay } from './each-store.ts';

const { billing } = newRelay();
const refunded = { status: 'REFUNDED', quota: 0, billing, httpStatus: 400, finishedAt: 101 } as const;
const billed = { status: 'BILLED', quota: 250_000, billing, httpStatus: 200, finishedAt: 101 } as const;
const owner = { owner: 'node-a' };

describeEachStore('relayed requests', (opened) => {
  const store = (): Store => opened().store;

  test('that were billed are refunded once, by one of many readers of their failed job', async () => {
    const { relays } = store();
    const { relayId } = await relays.open(newRelay());
    const ending = { billing: { ...billing, usd: 0 }, finishedAt: 105 };
    // An open one is not billed yet.
    expect(await relays.refundBilled(relayId, 250_000, ending)).toBe(false);
    expect(await relays.end({ relayId, by: owner, reserved: 250_000 }, billed)).toBe(true);
    expect(await relays.refundBilled(relayId, 7, ending)).toBe(false);
    const refunds = await Promise.all(Array.from({ length: 50 }, () => relays.refundBilled(relayId, 250_000, ending)));
    expect(refunds.filter(Boolean)).toHaveLength(1);
    expect(await relays.byRelayId(relayId)).toMatchObject({ status: 'REFUNDED', quota: 0, httpStatus: 200, ...ending });
  });

  test('whose usage became known later get another bill once, and none after a refund', async () => {
    const { relays } = store();
    const { relayId } = await relays.open(newRelay());
    const bill = { quota: 300_000, billing: { ...billing, usd: 2 } };
    expect(await relays.rebill(relayId, 250_000, bill)).toBe(false);
    expect(await relays.end({ relayId, by: owner, reserved: 250_000 }, billed)).toBe(true);
    const bills = await Promise.all(Array.from({ length: 20 }, () => relays.rebill(relayId, 250_000, bill)));
    expect(bills.filter(Boolean)).toHaveLength(1);
    expect(await relays.byRelayId(relayId)).toMatchObject({ status: 'BILLED', httpStatus: 200, ...bill });
    expect(await relays.refundBilled(relayId, 300_000, { billing, finishedAt: 105 })).toBe(true);
    expect(await relays.rebill(relayId, 0, bill)).toBe(false);
  });

  test('are hidden once, and not while they are open', async () => {
    const { relays } = store();
    const { relayId } = await relays.open(newRelay());
    expect(await relays.hide(relayId, 104)).toBe(false);
    expect(await relays.end({ relayId, by: owner, reserved: 250_000 }, billed)).toBe(true);
    const hidden = await Promise.all(Array.from({ length: 20 }, () => relays.hide(relayId, 105)));
    expect(hidden.filter(Boolean)).toHaveLength(1);
    expect(await relays.byRelayId(relayId)).toMatchObject({ status: 'BILLED', quota: 250_000, hiddenAt: 105 });
  });

  test('are listed page by page for their user: those that may be followed, without hidden ones', async () => {
    const { relays } = store();
    const userId = 70_001;
    const open = async (more: Parameters<typeof newRelay>[0] = {}) =>
      (await relays.open(newRelay({ kind: 'image', userId, ...more }))).relayId;
    const ids = [await open(), await open({ kind: 'image_edit' }), await open()];
    const [first = '', second = '', third = ''] = ids;
    const foreign = await open({ userId: userId + 1 });
    const chat = await open({ kind: 'chat' });
    const page = async (more: Partial<Parameters<typeof relays.pageByUser>[1]> = {}) =>
      (await relays.pageByUser(userId, { limit: 9, order: 'desc', ...more }))?.map(({ relayId }) => relayId);
    expect(await page()).toEqual([third, second, first]);
    expect(await page({ limit: 1, after: third })).toEqual([second]);
    expect(await page({ order: 'asc', after: first })).toEqual([second, third]);
    for (const after of [foreign, chat, 'relay_unknown']) expect(await page({ after })).toBeUndefined();
    await relays.end({ relayId: second, by: owner, reserved: 250_000 }, billed);
    await relays.hide(second, 105);
    expect(await page()).toEqual([third, first]);
    expect(await page({ after: second })).toEqual([first]);
  });

  test('are open, then are ended once by the node that waits for the answer', async () => {
    const { relays } = store();
    const relay = await relays.open(newRelay());
    expect(relay).toMatchObject({ status: 'OPEN', quota: 250_000, billing, httpStatus: 0, finishedAt: 0 });
    const claim = { relayId: relay.relayId, by: owner, reserved: 250_000 };
    expect(await relays.end({ ...claim, by: { owner: 'node-b' } }, billed)).toBe(false);
    expect(await relays.end({ ...claim, by: 'anyone_after_expiry' }, refunded)).toBe(false);
    expect(await relays.renew(relay.relayId, 'node-b', 1)).toBe(false);
    expect(await relays.renew(relay.relayId, 'node-a', 60_000)).toBe(true);
    const other = { ...billing, usd: 0.2 };
    expect(
      await relays.move(relay.relayId, 'node-b', { channelId: 4, credentialId: 5, quota: 7, billing, leaseForMs: 1 }),
    ).toBe(false);
    const change = { channelId: 4, credentialId: 5, quota: 100_000, billing: other, leaseForMs: 60_000 };
    expect(await relays.move(relay.relayId, 'node-a', change)).toBe(true);
    expect(await relays.byRelayId(relay.relayId)).toMatchObject({
      channelId: 4,
      credentialId: 5,
      quota: 100_000,
      billing: other,
    });
    // A caller that has not seen the move must not refund another amount than is reserved.
    expect(await relays.end(claim, billed)).toBe(false);
    const moved = { ...claim, reserved: 100_000 };
    expect(await relays.end(moved, billed)).toBe(true);
    for (const ending of [billed, refunded]) expect(await relays.end(moved, ending)).toBe(false);
    expect(await relays.move(relay.relayId, 'node-a', change)).toBe(false);
    // Its answer counts as being read until the lease is released.
    expect(await relays.renew(relay.relayId, 'node-b', 60_000)).toBe(false);
    expect(await relays.renew(relay.relayId, 'node-a', 60_000)).toBe(true);
    await relays.release(relay.relayId, 'node-b');
    expect(await relays.isDelivered(relay.relayId)).toBe(false);
    await relays.release(relay.relayId, 'node-a');
    expect(await relays.isDelivered(relay.relayId)).toBe(true);
    expect(await relays.byRelayId(relay.relayId)).toMatchObject({ status: 'BILLED', httpStatus: 200, finishedAt: 101 });
    expect(await relays.byRelayId(newRelayId(Date.now()))).toBeUndefined();
  });

  test('that were held in memory are stored at their end, once', async () => {
    const { relays } = store();
    const { leaseForMs: _, ...row } = newRelay({ kind: 'chat' });
    const stored = await Promise.all(Array.from({ length: 9 }, () => relays.insertEnded({ ...row, ...billed })));
    expect(stored.filter(Boolean)).toHaveLength(1);
    expect(await relays.insertEnded({ ...row, ...refunded })).toBe(false);
    expect(await relays.byRelayId(row.relayId)).toMatchObject({ ...row, ...billed, leaseUntilMs: 0 });
    expect(await relays.end({ relayId: row.relayId, by: owner, reserved: 250_000 }, refunded)).toBe(false);
    expect(await relays.isDelivered(row.relayId)).toBe(true);
  });

  test('with an expired lease are found, and any node ends them, once', async () => {
    const { relays } = store();
    const held = await relays.open(newRelay());
    // An open relay cannot be released.
    await relays.release(held.relayId, 'node-a');
    expect(await relays.isDelivered(held.relayId)).toBe(false);
    const dead = await relays.open(newRelay({ leaseForMs: 1 }));
    const found = async () => (await relays.interrupted(100)).map(({ relayId }) => relayId);
    await until(async () => (await found()).includes(dead.relayId));
    expect(await found()).not.toContain(held.relayId);
    const claim = { relayId: dead.relayId, by: 'anyone_after_expiry', reserved: 250_000 } as const;
    const ends = await Promise.all([1, 2, 3].map(() => relays.end(claim, refunded)));
    expect(ends.filter(Boolean)).toHaveLength(1);
    expect(await relays.renew(dead.relayId, 'node-a', 60_000)).toBe(false);
    expect(await relays.isDelivered(dead.relayId)).toBe(true);
    expect(await relays.end({ ...claim, by: owner }, billed)).toBe(false);
    expect(await found()).not.toContain(dead.relayId);

    expect(await relays.expireLeases()).toBeGreaterThan(0);
    expect(await found()).toContain(held.relayId);
  });

  test('an object id of a vendor never gets a second owner', async () => {
    const { relays } = store();
    const object = (change: Partial<RelayObject>): RelayObject => ({
      objectId: 'resp_same',
      kind: 'response',
      vendor: 'api.one.example',
      userId: 1,
      channelId: 3,
      credentialId: null,
      relayId: newRelayId(Date.now()),
      createdAt: 100,
      ...change,
    });
    const first = object({});
    expect(await relays.addObject(first)).toBe(true);
    // Nor through another channel of the same vendor.
    for (const again of [{ userId: 2 }, { userId: 2, channelId: 4 }, {}]) {
      expect(await relays.addObject(object(again))).toBe(false);
    }
    expect(await relays.ownObject(1, 'response', 'resp_same')).toEqual(first);
    for (const [userId, kind, id] of [
      [2, 'response', 'resp_same'],
      [1, 'video', 'resp_same'],
      [1, 'response', 'resp_sam'],
    ] as const) {
      expect(await relays.ownObject(userId, kind, id)).toBeUndefined();
    }
    // Ids are apart for each vendor; an owner gets their latest object of that id.
    const elsewhere = object({ userId: 2, vendor: 'api.two.example', channelId: 5 });
    expect(await relays.addObject(elsewhere)).toBe(true);
    const later = object({ vendor: 'api.three.example', channelId: 6 });
    expect(await relays.addObject(later)).toBe(true);
    expect(await relays.ownObject(2, 'response', 'resp_same')).toEqual(elsewhere);
    expect(await relays.ownObject(1, 'response', 'resp_same')).toEqual(later);
    expect(await relays.findObject(first.relayId)).toEqual(first);
    expect(await relays.findObject(newRelayId(Date.now()))).toBeUndefined();
  });

  test('ids of 2,048 characters are stored in full, and differ in their last one', async () => {
    const { relays } = store();
    const part = { vendor: 'v.example', userId: 1, channelId: 3, credentialId: null, createdAt: 100 };
    const same = '视'.repeat(2047);
    const digest = `=${new Bun.CryptoHasher('sha256').update(`${same}1`).digest('hex')}`;
    const ids = [`${same}1`, `${same}2`, digest, 'x'.repeat(191), 'x'.repeat(192)];
    const objects = ids.map((objectId): RelayObject => {
      return { ...part, kind: 'video', objectId, relayId: newRelayId(Date.now()) };
    });
    for (const object of objects) expect(await relays.addObject(object)).toBe(true);
    for (const object of objects) {
      expect(await relays.addObject({ ...object, userId: 2 })).toBe(false);
      expect(await relays.ownObject(1, 'video', object.objectId)).toEqual(object);
      expect(await relays.ownObject(2, 'video', object.objectId)).toBeUndefined();
      expect(await relays.findObject(object.relayId)).toEqual(object);
    }
    const items = objects.map((object): RelayObject<RelayPartKind> => ({ ...object, kind: 'item' }));
    await relays.addParts(items);
    expect(await relays.ownParts(1, 'item', ids)).toEqual(items);
  });

  test('parts of answers are found by their owner, and are not the object that the request created', async () => {
    const { relays } = store();
    const relayId = newRelayId(Date.now());
    const part = { vendor: 'v.example', userId: 1, channelId: 3, credentialId: null, relayId, createdAt: 100 };
    const parts: RelayObject<RelayPartKind>[] = [
      { ...part, kind: 'item', objectId: 'rs_1' },
      { ...part, kind: 'item', objectId: 'rs_2' },
      { ...part, kind: 'container', objectId: 'cntr_1' },
    ];
    await relays.addParts(parts);
    expect(await relays.findObject(relayId)).toBeUndefined();
    // They keep their owner, however often other answers name them.
    await relays.addParts([...parts, { ...part, kind: 'item', objectId: 'rs_1', userId: 2 }]);
    await relays.addParts([]);
    expect(await relays.ownParts(1, 'item', ['rs_2', 'rs_1', 'rs_3', 'cntr_1'])).toHaveLength(2);
    expect(await relays.ownParts(1, 'container', ['cntr_1'])).toEqual([parts[2] as RelayObject<RelayPartKind>]);
    expect(await relays.ownParts(2, 'item', ['rs_1'])).toEqual([]);
    expect(await relays.ownParts(1, 'item', [])).toEqual([]);
    // Names come from clients.
    expect(await relays.ownParts(1, 'item', ['rs_1', 'nul\0', 'half a pair \ud800', '"\\'])).toHaveLength(1);
  });

  test('are deleted when they are old, unless they are open', async () => {
    const { relays } = store();
    const open = await relays.open(newRelay({ createdAt: 1 }));
    const old: string[] = [];
    for (const finishedAt of [5, 6, 50]) {
      const { relayId } = await relays.open(newRelay({ createdAt: 1 }));
      await relays.end({ relayId, by: owner, reserved: 250_000 }, { ...billed, finishedAt });
      old.push(relayId);
    }
    expect([await relays.deleteEnded(10, 1), await relays.deleteEnded(10, 9), await relays.deleteEnded(10, 9)]).toEqual(
      [1, 1, 0],
    );
    expect(await Promise.all(old.map(async (id) => (await relays.byRelayId(id)) !== undefined))).toEqual([
      false,
      false,
      true,
    ]);
    expect(await relays.byRelayId(open.relayId)).toBeDefined();

    const made = {
      kind: 'video',
      vendor: 'v.example',
      userId: 1,
      channelId: 3,
      credentialId: null,
      relayId: newRelayId(Date.now()),
    } as const;
    for (const createdAt of [5, 6, 50])
      await relays.addObject({ ...made, objectId: `video_old${createdAt}`, createdAt });
    expect([await relays.deleteObjects(10, 1), await relays.deleteObjects(10, 9)]).toEqual([1, 1]);
    expect(await relays.ownObject(1, 'video', 'video_old6')).toBeUndefined();
    expect(await relays.ownObject(1, 'video', 'video_old50')).toBeDefined();
  });

  test('the ledger check covers their lines like those of tasks', async () => {
    const { relays, ledger } = store();
    const user = await addUser(store(), { balance: 1_000_000 });
    const mine = { walletId: user.walletId, userId: user.id, apiKeyId: null, at: 100 };
    const relay = await relays.open(newRelay({ userId: user.id }));
    await ledger.reserve({ ...mine, taskId: relay.relayId, attempt: 1, amount: 250_000 });
    const wrong = async () =>
      (await ledger.imbalances(100)).tasks.filter(({ taskId }) => taskId === relay.relayId).map(({ quota }) => quota);
    expect(await wrong()).toEqual([]);
    await relays.end({ relayId: relay.relayId, by: owner, reserved: 250_000 }, refunded);
    expect(await wrong()).toEqual([0]);
    await ledger.post({ ...mine, taskId: relay.relayId, kind: 'refund', attempt: 0, amount: 250_000 });
    expect(await wrong()).toEqual([]);
  });

  test('an idempotency key is free again when its request failed', async () => {
    const { idempotency } = store();
    const { id: userId } = await addUser(store());
    const record = { userId, key: 'k', requestHash: 'h', taskId: newRelayId(Date.now()), expiresAt: 1000, at: 100 };
    expect(await idempotency.take(record)).toBe(true);
    await idempotency.free(userId, newTaskId(Date.now()));
    await idempotency.free(userId + 1, record.taskId);
    expect(await idempotency.take({ ...record, taskId: newRelayId(Date.now()) })).toBe(false);
    await idempotency.free(userId, record.taskId);
    expect(await idempotency.take({ ...record, taskId: newRelayId(Date.now()) })).toBe(true);
  });
});
