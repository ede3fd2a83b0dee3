/** What members of one transaction owe each other: nothing but its commit. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type Billing, createBilling } from '../../src/billing/index.ts';
import { createCapacity, type VendorAccount } from '../../src/channels/index.ts';
import { AppError, quoted, silentLogger, systemClock, systemRandom } from '../../src/kernel/index.ts';
import { storeErrors } from '../../src/store/drivers/errors.ts';
import {
  type ChannelRecord,
  type Repositories,
  STATUS,
  type Store,
  type TaskRecord,
} from '../../src/store/ports/index.ts';
import { batchMoneyWrites } from '../../src/tasks/state/batch-money-writes.ts';
import { addKey, describeEachStore, newRelay, newTask, readLease } from '../contract/each-store.ts';
import { toAccount } from '../support/accounts.ts';
import { addUser } from '../support/add-user.ts';
import { until } from '../support/until.ts';

/** A vendor's account that runs one task at once. */
const ACCOUNT: ChannelRecord = {
  ...{ id: 77, name: 'vendor', type: 61, baseUrl: 'https://vendor.example' },
  ...{ models: ['demo-1'], groups: ['default'], priority: 0, weight: 1, modelMapping: {}, taskPluginKey: 'demo' },
  ...{ settings: {}, status: 1, usedQuota: 0, createdAt: 1, updatedAt: 1, limits: { maxRunning: 1 }, pool: '' },
  ...{ spill: true, proxySealed: null, headersSealed: null, bodyDefaults: null },
};

describeEachStore('money in groups', (opened) => {
  let store: Store;
  let billing: Billing;
  beforeEach(() => {
    store = opened().store;
    billing = createBilling({
      ...{ store, clock: systemClock, logger: silentLogger, syncFrequencyMs: 60_000 },
      ...{
        declaredFacts: () => undefined,
        settings: () => ({ groupRatios: {}, groupBudgets: {}, timezone: 'UTC', unpriced: 'everyone' }),
      },
    });
  });
  afterEach(async () => {
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  type Payer = { id: number; walletId: number; keyId: number | null };
  const addPayer = async (balance: number, keyBudget?: number): Promise<Payer> => {
    const { id, walletId } = await addUser(store, { balance });
    if (keyBudget === undefined) return { id, walletId, keyId: null };
    return { id, walletId, keyId: (await addKey(store, id, { unlimitedQuota: false, quota: keyBudget })).id };
  };
  const left = async ({ id, keyId }: Payer) => [
    (await store.users.byId(id))?.quota,
    ...(keyId === null ? [] : [(await store.apiKeys.byId(keyId))?.quota]),
  ];

  /** Groups over `on`, and how many transactions they have begun. */
  function groups(on: Partial<Store> = {}) {
    let begun = 0;
    const over: Store = { ...store, ...on };
    const transaction: Store['transaction'] = (work) => {
      begun += 1;
      return over.transaction(work);
    };
    const money = batchMoneyWrites({
      ...{ store: { ...over, transaction }, clock: systemClock, billing, mostHeld: () => 1_000_000 },
      capacity: createCapacity({
        ...{ store, clock: systemClock, random: systemRandom, logger: silentLogger },
        nodeId: 'node',
        accounts: () => [],
        syncFrequencyMs: 60_000,
      }),
    });
    return { ...money, begun: () => begun };
  }
  type Groups = Pick<ReturnType<typeof groups>, 'open' | 'close' | 'hold'>;

  const open = (
    money: Groups,
    { id: userId, walletId, keyId: apiKeyId }: Payer,
    { quota, key, insert }: { quota: number; key?: string; insert?: (tx: Repositories) => Promise<TaskRecord> },
  ): Promise<TaskRecord> => {
    const task = newTask({ userId, walletId, apiKeyId, quota });
    return money.open({
      payer: { group: 'default', taskId: task.taskId, userId, walletId, apiKeyId, quota, billing: task.billing },
      idempotency: key === undefined ? undefined : { key, requestHash: 'h' },
      insert: insert ?? ((tx) => tx.tasks.insert(task)),
    });
  };
  const close = (money: Groups, task: TaskRecord, quota: number | null): Promise<boolean> => {
    const status = quota === null ? ('FAILURE' as const) : ('SUCCESS' as const);
    const bill = { quota: quota ?? 0, billing: task.billing };
    return money.close({
      async move(tx) {
        const lease = { ...readLease(task), reserved: task.quota };
        return (await tx.tasks.advanceAll([{ lease, change: { status, ...bill }, nextPollInMs: null }]))[0] === true;
      },
      ended: { task, bill, refund: quota === null ? { reason: quoted('failed') } : undefined },
    });
  };
  type Held = ReturnType<typeof heldBy>;
  const heldBy = ({ id: userId, walletId, keyId: apiKeyId }: Payer, quota: number) => {
    const { leaseForMs: _, ...row } = newRelay({ kind: 'chat', userId, walletId, apiKeyId, quota });
    return { ...row, taskId: row.relayId };
  };
  /** Reserves what was held, and bills it. */
  const closeHeld = (money: Groups, { taskId, ...row }: Held, quota: number): Promise<boolean> => {
    const task = { ...row, taskId, platform: '*', properties: { originModelName: row.model } };
    return money.close({
      move: (tx) => tx.relays.insertEnded({ ...row, status: 'BILLED', quota, httpStatus: 200, finishedAt: 1 }),
      ended: { task, bill: { quota, billing: row.billing } },
      owes: task,
    });
  };
  const codes = async (calls: Promise<unknown>[]): Promise<string[]> =>
    (await Promise.allSettled(calls)).map((call) =>
      call.status === 'fulfilled' ? 'ok' : call.reason instanceof AppError ? call.reason.code : String(call.reason),
    );
  const POOR = 'billing.insufficient_quota';

  test('share one transaction, and each has its own verdict: one that does not fit stops no later one', async () => {
    const [rich, poor, limited] = [await addPayer(1000), await addPayer(100), await addPayer(1000, 50)];
    const disabled = await addPayer(1000);
    await store.users.administer(disabled.id, { status: STATUS.disabled }, 1);
    const money = groups();
    const verdicts = await codes([
      open(money, rich, { quota: 300 }),
      open(money, poor, { quota: 60 }),
      open(money, poor, { quota: 50 }),
      open(money, poor, { quota: 40 }),
      open(money, poor, { quota: 1 }),
      open(money, limited, { quota: 51 }),
      open(money, limited, { quota: 50 }),
      open(money, disabled, { quota: 1 }),
      open(money, disabled, { quota: 0 }),
      open(money, rich, { quota: 700 }),
    ]);
    const key = 'billing.insufficient_key_quota';
    expect(verdicts).toEqual(['ok', 'ok', POOR, 'ok', POOR, key, 'ok', POOR, 'ok', 'ok']);
    expect(money.begun()).toBe(1);
    expect([await left(rich), await left(poor), await left(limited), await left(disabled)]).toEqual([
      [0],
      [0],
      [950, 0],
      [1000],
    ]);
  });

  test('what was held is reserved and billed once, beside other requests of its wallet and their keys', async () => {
    const { id, walletId } = await addUser(store, { balance: 10_000 });
    const payers: Payer[] = [];
    for (let nth = 0; nth < 4; nth += 1)
      payers.push({ id, walletId, keyId: (await addKey(store, id, { unlimitedQuota: false, quota: 5000 })).id });
    const money = groups();
    const ends = await Promise.all(
      Array.from({ length: 80 }, async (_, nth) => {
        const payer = payers[(nth >> 1) % 4] as Payer;
        if (nth % 2 === 0) return close(money, await open(money, payer, { quota: 10 }), 10);
        const held = heldBy(payer, 20);
        const twice = await Promise.all([closeHeld(money, held, 7), closeHeld(money, held, 7)]);
        return twice.filter(Boolean).length === 1;
      }),
    );
    expect(ends).toEqual(Array(80).fill(true));
    for (const payer of payers) expect(await left(payer)).toEqual([10_000 - 40 * 10 - 40 * 7, 5000 - 10 * 10 - 10 * 7]);
    expect(await store.users.byId(id)).toMatchObject({ usedQuota: 40 * 10 + 40 * 7, requestCount: 80 });
  });

  test('a bill that is written and still counted here does not refuse who can pay', async () => {
    const payer = await addPayer(100);
    const money = groups();
    const held = heldBy(payer, 60);
    const hold = await money.hold({ ...held, group: 'default' });
    hold?.bill(60);
    expect(await closeHeld(money, held, 60)).toBe(true);
    const opened = open(money, payer, { quota: 40 });
    await until(() => money.begun() === 2);
    hold?.end();
    await opened;
    expect(await left(payer)).toEqual([0]);
    expect(await codes([open(money, payer, { quota: 1 })])).toEqual([POOR]);
  });

  test('overdraft: a task moves to a dearer channel beside what is held of its wallet, or being held', async () => {
    const payer = await addPayer(100);
    const money = groups();
    let task = await open(money, payer, { quota: 5 });
    const move = (quota: number, attempt: number) =>
      money.replacing((tx, replace) => replace(tx, { ...task, quota }, { reserved: task.quota, attempt }));
    const hold = await money.hold(heldBy(payer, 90));
    expect(await codes([move(11, 2)])).toEqual([POOR]);
    expect(await codes([move(10, 3)])).toEqual(['ok']);
    expect(await left(payer)).toEqual([90]);
    task = { ...task, quota: 10 };
    hold?.end();
    // What is being moved may be in the balance that a new hold reads, or not yet.
    const asked: Promise<unknown>[] = [];
    await money.replacing(async (tx, replace) => {
      const replaced = replace(tx, { ...task, quota: 60 }, { reserved: 10, attempt: 4 });
      asked.push(money.hold(heldBy(payer, 41)));
      await replaced;
    });
    expect(await Promise.all(asked)).toEqual([undefined]);
    expect(await left(payer)).toEqual([40]);
    expect(await money.hold(heldBy(payer, 40))).toBeDefined();
  });

  test('nothing is held once a transaction has failed, until one is stored', async () => {
    const payer = await addPayer(1000);
    let isAway = false;
    const money = groups({
      transaction: (work) => (isAway ? Promise.reject(storeErrors.unavailable()) : store.transaction(work)),
    });
    const mayHold = async () => {
      const hold = await money.hold(heldBy(payer, 10));
      hold?.end();
      return hold !== undefined;
    };
    expect(await mayHold()).toBe(true);
    isAway = true;
    expect(await codes([open(money, payer, { quota: 1 })])).toEqual(['store.unavailable']);
    expect(await mayHold()).toBe(false);
    isAway = false;
    await open(money, payer, { quota: 1 });
    expect(await mayHold()).toBe(true);
  });

  test('a repeat in the same group is refused, and a user who cannot pay keeps no Idempotency-Key', async () => {
    const payer = await addPayer(100);
    const money = groups();
    expect(
      await codes([
        open(money, payer, { quota: 10, key: 'twice' }),
        open(money, payer, { quota: 10, key: 'twice' }),
        open(money, payer, { quota: 500, key: 'dear' }),
      ]),
    ).toEqual(['ok', 'tasks.idempotency_in_progress', POOR]);
    expect(await codes([open(money, payer, { quota: 20, key: 'dear' })])).toEqual(['ok']);
    expect(await left(payer)).toEqual([70]);
  });

  test('a repeat takes the place of its refused first request, and gets a verdict of its own', async () => {
    const [payer, poor] = [await addPayer(100), await addPayer(100)];
    const money = groups();
    expect(
      await codes([
        open(money, payer, { quota: 500, key: 'dear' }),
        open(money, payer, { quota: 500, key: 'dear' }),
        open(money, payer, { quota: 20, key: 'dear' }),
        open(money, payer, { quota: 20, key: 'dear' }),
        open(money, poor, { quota: 500, key: 'dear' }),
      ]),
    ).toEqual([POOR, POOR, 'ok', 'tasks.idempotency_in_progress', POOR]);
    expect([await left(payer), await left(poor)]).toEqual([[80], [100]]);
  });

  test('a member that the database refuses harms no other', async () => {
    const [one, other] = [await addPayer(100), await addPayer(100)];
    const taken = await store.tasks.insert(newTask());
    const money = groups();
    const insert = (tx: Repositories) => tx.tasks.insert(newTask({ taskId: taken.taskId }));
    const verdicts = await codes([
      open(money, one, { quota: 10 }),
      open(money, one, { quota: 20, insert }),
      open(money, other, { quota: 30 }),
    ]);
    expect(verdicts).toEqual(['ok', 'store.broken_invariant', 'ok']);
    expect([await left(one), await left(other)]).toEqual([[90], [70]]);
  });

  test('a row that somebody holds fails those who want it, once for all of them, and nobody else', async () => {
    const [one, other] = [await addPayer(100), await addPayer(100)];
    const money = groups();
    const insert = () => Promise.reject(storeErrors.locked());
    const verdicts = await codes([
      open(money, one, { quota: 10, insert }),
      open(money, one, { quota: 20, insert }),
      open(money, other, { quota: 30 }),
    ]);
    expect(verdicts).toEqual(['store.locked', 'store.locked', 'ok']);
    expect(money.begun()).toBe(3);
    expect([await left(one), await left(other)]).toEqual([[100], [70]]);
  });

  test('whatever statement its database dies at, nothing of a group is stored', async () => {
    const [one, other] = [await addPayer(100, 100), await addPayer(100)];
    const running = await Promise.all([one, other].map((payer) => open(groups(), payer, { quota: 40 })));
    const begin = (money: Groups) => [
      open(money, one, { quota: 10, key: 'k' }),
      open(money, other, { quota: 20 }),
      open(money, one, { quota: 99, key: 'l' }),
    ];
    const end = (money: Groups) => running.map((task, index) => close(money, task, index === 0 ? 30 : null));
    const held = async () => [
      await left(one),
      await left(other),
      await store.idempotency.find(one.id, 'k', systemClock.unix()),
    ];
    for (const work of [begin, end]) {
      const before = await held();
      for (let survived = 0, died = true; died; survived += 1) {
        let calls = 0;
        died = false;
        const transaction: Store['transaction'] = (run) =>
          store.transaction((tx) =>
            run(
              countCalls(tx, () => {
                if (calls++ < survived) return;
                died = true;
                throw storeErrors.unavailable();
              }),
            ),
          );
        const verdicts = await codes(work(groups({ transaction })));
        if (!died) break;
        expect(verdicts).toEqual(verdicts.map(() => 'store.unavailable'));
        expect(await held()).toEqual(before);
      }
    }
    // The last round of each met no fault: what could be paid was stored.
    expect([await left(one), await left(other)]).toEqual([[60, 60], [80]]);
  });

  test('a lost answer to the commit is told to each member, and what was stored is not done again', async () => {
    const [one, other] = [await addPayer(100), await addPayer(100)];
    let begun = 0;
    const transaction: Store['transaction'] = async (work) => {
      begun += 1;
      await store.transaction(work);
      throw storeErrors.outcome_unknown();
    };
    const lost = groups({ transaction });
    const unknown = 'store.outcome_unknown';
    expect(await codes([open(lost, one, { quota: 10 }), open(lost, other, { quota: 20 })])).toEqual([unknown, unknown]);
    expect(begun).toBe(1);
    expect([await left(one), await left(other)]).toEqual([[90], [80]]);
    const task = await open(groups(), one, { quota: 30 });
    expect(await codes([close(lost, task, 20)])).toEqual([unknown]);
    expect(await close(groups(), task, 20)).toBe(false);
    expect(await left(one)).toEqual([70]);
  });

  test('a transaction that the database undid and runs again keeps no slot of its first run', async () => {
    const [one, other] = [await addPayer(100), await addPayer(100)];
    const accounts = [toAccount(ACCOUNT)];
    const capacity = createCapacity({
      ...{ store, clock: systemClock, random: systemRandom, logger: silentLogger },
      ...{ nodeId: 'node', accounts: () => accounts, syncFrequencyMs: 60_000 },
    });
    const scope = capacity.scope(accounts[0] as VendorAccount, 'demo-1');
    const begins = (payer: Payer) => {
      const owner = { userId: payer.id, walletId: payer.walletId };
      const task = newTask({ ...owner, channelId: ACCOUNT.id, upstreamModel: 'demo-1' });
      return {
        payer: { ...owner, group: 'default', taskId: task.taskId, apiKeyId: null, quota: 0, billing: task.billing },
        idempotency: undefined,
        start: { scope, task: { taskId: task.taskId, slots: 1, userId: payer.id } },
        insert: (tx: Repositories) => tx.tasks.insert(task),
      };
    };
    const common = { clock: systemClock, billing, capacity };
    // As PostgreSQL does it after a deadlock; the only slot is taken by then.
    const undone = new Error('undone');
    const transaction: Store['transaction'] = async (work) => {
      const first = store.transaction(async (tx) => {
        await work(tx);
        throw undone;
      });
      await first.catch((error: unknown) => expect(error).toBe(undone));
      await batchMoneyWrites({ ...common, store }).open(begins(other));
      return store.transaction(work);
    };
    const money = batchMoneyWrites({ ...common, store: { ...store, transaction } });
    expect(await codes([money.open(begins(one))])).toEqual(['tasks.queue_full']);
    expect(capacity.running(accounts[0] as VendorAccount)).toBe(1);
    capacity.stop();
  });

  test('a task that somebody else has ended moves no money, and holds up none that ends with it', async () => {
    const [one, other] = [await addPayer(100), await addPayer(100)];
    const money = groups();
    const [lost, won, failed] = await Promise.all([
      open(money, one, { quota: 10 }),
      open(money, one, { quota: 20 }),
      open(money, other, { quota: 30 }),
    ]);
    expect(await close(groups(), lost, null)).toBe(true);
    expect(await Promise.all([close(money, lost, 5), close(money, won, 25), close(money, failed, null)])).toEqual([
      false,
      true,
      true,
    ]);
    expect([await left(one), await left(other)]).toEqual([[75], [100]]);
    expect(await store.users.byId(one.id)).toMatchObject({ usedQuota: 25, requestCount: 1 });
    expect(money.begun()).toBe(2);
  });

  test('groups of two nodes over the same wallets, in any order, neither deadlock nor overdraw', async () => {
    const payers = await Promise.all(Array.from({ length: 6 }, () => addPayer(100, 90)));
    const nodes = [groups(), groups(await opened().openAnother())];
    const verdicts: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const calls = nodes.flatMap((money, node) => {
        const inOrder = node === 0 ? payers : payers.toReversed();
        return [...inOrder, ...inOrder].map((payer) => open(money, payer, { quota: 7 }));
      });
      verdicts.push(...(await codes(calls)));
    }
    // Twelve of 16 each fit into what the key may spend.
    expect(verdicts.filter((code) => code === 'ok')).toHaveLength(6 * 12);
    for (const payer of payers) expect(await left(payer)).toEqual([16, 6]);
  });
});

/** Repositories that tell of each call before it is made. */
function countCalls(tx: Repositories, onCall: () => void): Repositories {
  type Methods = Record<string, (...args: unknown[]) => unknown>;
  const counted = Object.entries(tx as unknown as Record<string, Methods>).map(([name, methods]) => [
    name,
    Object.fromEntries(
      Object.entries(methods).map(([method, call]) => [
        method,
        async (...args: unknown[]) => {
          onCall();
          return call(...args);
        },
      ]),
    ),
  ]);
  return Object.fromEntries(counted) as Repositories;
}
