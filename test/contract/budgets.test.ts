import { expect, test } from 'bun:test';
import { type Budget, findBudgetSum, newTaskId, quoted } from '../../src/kernel/index.ts';
import type { BudgetRules, Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, describeEachStore } from './each-store.ts';
import { openRaw } from './open-raw.ts';

const BERLIN = { zone: 'Europe/Berlin' };
const monthly = (amount: number): Budget => ({ amount, period: 'month' });

const owner = ({ walletId }: UserRecord) => ({ walletId, apiKeyId: null });

type Line = {
  amount: number;
  apiKeyId?: number | null;
  taskId?: string;
  attempt?: number;
  group?: { name: string; budget: Budget };
};

function reserve(store: Store, { id: userId, walletId }: UserRecord, line: Line) {
  const { amount, apiKeyId = null, taskId = newTaskId(Date.now()), attempt = 1, group } = line;
  const budgets = { ...BERLIN, group };
  return store.ledger.reserve({ userId, walletId, apiKeyId, taskId, attempt, amount, at: 1, budgets });
}

describeEachStore('budgets by period', (opened) => {
  const presentSum = (userId: number, budget: Budget) =>
    findBudgetSum({ scope: 'user', userId }, budget, { ...BERLIN, at: Math.floor(Date.now() / 1000) });
  const spent = async (userId: number, budget: Budget) => {
    const { id } = presentSum(userId, budget);
    return (await opened().store.ledger.budgetsSpent([id])).get(id);
  };

  test('reservations of two nodes at once never exceed it, and those that fit are taken', async () => {
    const { store, openAnother } = opened();
    const nodes = [store, await openAnother()];
    const user = await addUser(store, { balance: 100_000 });
    const key = await addKey(store, user.id, { budget: monthly(1000) });
    const verdicts = await Promise.all(
      Array.from({ length: 50 }, (_, i) => reserve(nodes[i % 2] ?? store, user, { amount: 90, apiKeyId: key.id })),
    );
    expect(verdicts.filter((verdict) => verdict === 'ok')).toHaveLength(11);
    const refused = verdicts.filter((verdict) => verdict !== 'ok');
    expect(refused).toHaveLength(39);
    for (const verdict of refused)
      expect(verdict).toMatchObject({ owner: { scope: 'key', keyId: key.id }, budget: monthly(1000), spent: 990 });
    expect(await reserve(store, user, { amount: 10, apiKeyId: key.id })).toBe('ok');
    // A refused one moved no money.
    expect((await store.users.byId(user.id))?.quota).toBe(99_000);
    expect((await store.ledger.imbalances(9)).wallets.filter(({ userId }) => userId === user.id)).toEqual([]);
  });

  test('of key, user and group the strictest holds, and a group’s counts for each of its users apart', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 9000 });
    const key = await addKey(store, user.id, { budget: { amount: 500, period: 'total' } });
    await store.users.update(user.id, { budget: { amount: 300, period: 'week' } });
    const group = { name: 'trial', budget: { amount: 200, period: 'day' } as const };
    const line = { apiKeyId: key.id, group };
    expect(await reserve(store, user, { amount: 150, ...line })).toBe('ok');
    expect(await reserve(store, user, { amount: 100, ...line })).toMatchObject({
      owner: { scope: 'group', group: 'trial' },
      spent: 150,
    });
    expect(await reserve(store, user, { amount: 100, apiKeyId: key.id })).toBe('ok');
    expect(await reserve(store, user, { amount: 60 })).toMatchObject({
      owner: { scope: 'user', userId: user.id },
      spent: 250,
    });
    await store.users.update(user.id, { budget: null });
    expect(await reserve(store, user, { amount: 300, apiKeyId: key.id })).toMatchObject({
      owner: { scope: 'key' },
      endsAt: 0,
    });
    const other = await addUser(store, { balance: 9000 });
    expect(await reserve(store, other, { amount: 150, group })).toBe('ok');
  });

  test('settlement and refund count in the period of the reservation, whatever the budget is by then', async () => {
    const { store } = opened();
    const budget = monthly(1000);
    const user = await addUser(store, { balance: 9000 });
    await store.users.update(user.id, { budget });
    const taskId = newTaskId(Date.now());
    const post = (kind: 'settle' | 'refund', amount: number, attempt = 0) =>
      store.ledger.post({ walletId: user.walletId, apiKeyId: null, taskId, kind, attempt, amount, at: 1 });
    expect(await reserve(store, user, { amount: 400, taskId })).toBe('ok');
    // It moved to another channel, with another price.
    await post('refund', 400, 1);
    expect(await reserve(store, user, { amount: 500, taskId, attempt: 2 })).toBe('ok');
    expect(await spent(user.id, budget)).toBe(500);
    await store.users.update(user.id, { budget: { amount: 5, period: 'day' } });
    await post('settle', -700);
    // The sum may go above the budget, as a balance may go below zero.
    expect(await spent(user.id, budget)).toBe(1200);
    expect(await post('settle', -700)).toBe(false);
    expect(await spent(user.id, budget)).toBe(1200);
    expect(await spent(user.id, { amount: 5, period: 'day' })).toBeUndefined();
  });

  test('what costs nothing at first counts its bill, and is refused once the budget is used up', async () => {
    const { store } = opened();
    const budget = monthly(100);
    const user = await addUser(store, { balance: 9000 });
    await store.users.update(user.id, { budget });
    const taskId = newTaskId(Date.now());
    expect(await reserve(store, user, { amount: 0, taskId })).toBe('ok');
    await store.ledger.post({ ...owner(user), taskId, kind: 'settle', attempt: 0, amount: -100, at: 1 });
    expect(await spent(user.id, budget)).toBe(100);
    expect(await reserve(store, user, { amount: 0 })).toMatchObject({ owner: { scope: 'user' }, spent: 100 });
  });

  test('a replaced reservation stays in its period, and is refused only for what it takes more', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 9000 });
    const taskId = newTaskId(Date.now());
    let attempt = 0;
    const take = (amount: number, method: 'reserve' | 'replaceReservation', budgets: BudgetRules = BERLIN) => {
      attempt += 1;
      const entry = { ...owner(user), taskId, attempt, amount, at: Math.floor(Date.now() / 1000), budgets };
      return store.ledger[method]({ ...entry, userId: user.id, note: quoted('moved') });
    };
    await store.users.update(user.id, { budget: monthly(1000) });
    expect(await take(400, 'reserve')).toBe('ok');
    await store.users.update(user.id, { budget: monthly(100) });
    expect(await take(300, 'replaceReservation')).toBe('ok');
    expect(await take(301, 'replaceReservation')).toMatchObject({ budget: monthly(100), spent: 300 });
    await store.users.update(user.id, { budget: monthly(700) });
    expect(await take(600, 'replaceReservation')).toBe('ok');
    // With another time zone, the present period is another one.
    expect(await take(650, 'replaceReservation', { zone: 'Pacific/Kiritimati' })).toBe('ok');
    expect(await spent(user.id, monthly(1))).toBe(650);
    expect((await store.users.byId(user.id))?.quota).toBe(8350);
    expect((await store.ledger.byTask(taskId)).map(({ kind, attempt: nth, amount }) => [kind, nth, amount])).toEqual([
      ['reserve', 1, -400],
      ['refund', 1, 400],
      ['reserve', 2, -300],
      ['refund', 2, 300],
      ['reserve', 4, -600],
      ['refund', 4, 600],
      ['reserve', 5, -650],
    ]);
  });

  test('sums of ended periods are deleted, those of present ones and of totals stay', async () => {
    const { store } = opened();
    const [day, total]: Budget[] = [
      { amount: 50, period: 'day' },
      { amount: 50, period: 'total' },
    ];
    const user = await addUser(store, { balance: 90 });
    for (const budget of [day, total]) {
      await store.users.update(user.id, { budget: budget as Budget });
      await reserve(store, user, { amount: 1 });
    }
    const { endsAt } = presentSum(user.id, day as Budget);
    await store.ledger.deleteBudgetSums(endsAt - 1, 100);
    expect(await spent(user.id, day as Budget)).toBe(1);
    expect(await store.ledger.deleteBudgetSums(endsAt, 100)).toBeGreaterThanOrEqual(1);
    expect([await spent(user.id, day as Budget), await spent(user.id, total as Budget)]).toEqual([undefined, 1]);
  });

  test('a sum without end goes with its key, or with its user', async () => {
    const { store } = opened();
    const budget = { amount: 50, period: 'total' } as const;
    const [user, gone] = [await addUser(store, { balance: 90 }), await addUser(store, { balance: 90 })];
    const [kept, lost] = [await addKey(store, user.id, { budget }), await addKey(store, user.id, { budget })];
    const group = { name: 'a:b', budget };
    await store.users.update(gone.id, { budget });
    for (const key of [kept, lost]) await reserve(store, user, { amount: 1, apiKeyId: key.id, group });
    await reserve(store, gone, { amount: 1, group });
    const ids = [`key:${kept.id}`, `key:${lost.id}`, `user:${gone.id}`, `group:${user.id}:a:b`, `group:${gone.id}:a:b`];
    const stored = async () => [...(await store.ledger.budgetsSpent(ids.map((id) => `${id}:total:0`))).keys()].sort();
    await store.ledger.deleteBudgetSums(0, 100);
    expect(await stored()).toHaveLength(5);
    await store.apiKeys.delete(lost.id, user.id);
    await store.users.softDelete(gone.id, gone.authVersion, 5);
    expect(await store.ledger.deleteBudgetSums(0, 100)).toBe(3);
    expect(await stored()).toEqual([`group:${user.id}:a:b:total:0`, `key:${kept.id}:total:0`]);
  });

  test('a sum that its lines do not explain is found, and so are lines without a wallet', async () => {
    const { store, databaseUrl, dataDir } = opened();
    const user = await addUser(store, { balance: 900 });
    await store.users.update(user.id, { budget: monthly(500) });
    const [taskId, other] = [newTaskId(Date.now()), newTaskId(Date.now())];
    await reserve(store, user, { amount: 0, taskId });
    await store.ledger.post({ ...owner(user), taskId, kind: 'settle', attempt: 0, amount: -70, at: 1 });
    await reserve(store, user, { amount: 30, taskId: other });
    expect(await store.ledger.budgetImbalances(9)).toEqual([]);
    const { id } = presentSum(user.id, monthly(1));
    const raw = openRaw({ databaseUrl, dataDir });
    try {
      await raw.run(`update budget_sums set spent = 99 where id = '${id}'`);
      await raw.run(
        `insert into ledger_entries (wallet_id, kind, attempt, amount, created_at) values (999999, 'grant', 0, 5, 1)`,
      );
    } finally {
      await raw.close();
    }
    expect(await store.ledger.budgetImbalances(9)).toEqual([{ id, spent: 99, ledger: 100 }]);
    expect((await store.ledger.imbalances(9)).wallets).toEqual([
      { walletId: 999_999, userId: null, quota: 0, ledger: 5 },
    ]);
  });
});
