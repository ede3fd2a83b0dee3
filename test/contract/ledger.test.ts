import { expect, test } from 'bun:test';
import { findBudgetSum, newTaskId } from '../../src/kernel/index.ts';
import type { HeldAmounts, Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, describeEachStore, newTask, readLease } from './each-store.ts';

describeEachStore('ledger', (opened) => {
  const balance = async (userId: number) => (await opened().store.users.byId(userId))?.quota;
  const reserve = (
    { id: userId, walletId }: Pick<UserRecord, 'id' | 'walletId'>,
    amount: number,
    change: { apiKeyId?: number | null; taskId?: string; attempt?: number } = {},
  ) =>
    opened().store.ledger.reserve({
      walletId,
      userId,
      apiKeyId: null,
      taskId: newTaskId(Date.now()),
      attempt: 0,
      amount,
      at: 1,
      ...change,
    });
  const requireBalanced = async (store: Store, userId: number) => {
    const { wallets } = await store.ledger.imbalances(1000);
    expect(wallets.filter((row) => row.userId === userId)).toEqual([]);
  };

  test('of 50 concurrent reservations of the last money, one wins', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 1000 });
    const results = await Promise.all(Array.from({ length: 50 }, () => reserve(user, 1000)));
    expect(results.filter((result) => result === 'ok')).toHaveLength(1);
    expect(results.filter((result) => result === 'wallet_insufficient')).toHaveLength(49);
    expect(await balance(user.id)).toBe(0);
    expect((await store.ledger.list(user.id, { page: 1, pageSize: 100 })).total).toBe(2);
    await requireBalanced(store, user.id);
  });

  test('of 50 concurrent reservations of a key’s last budget, one wins and the balance moves once', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 100_000 });
    const key = await addKey(store, user.id, { unlimitedQuota: false, quota: 70 });
    const results = await Promise.all(Array.from({ length: 50 }, () => reserve(user, 70, { apiKeyId: key.id })));
    expect(results.filter((result) => result === 'ok')).toHaveLength(1);
    expect(results.filter((result) => result === 'key_insufficient')).toHaveLength(49);
    expect(await balance(user.id)).toBe(99_930);
    expect((await store.apiKeys.byId(key.id))?.quota).toBe(0);
  });

  test('overdraft: open reservations of all keys of an account never exceed its balance, nor a key’s its budget', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 20_000 });
    const limited = await addKey(store, user.id, { unlimitedQuota: false, quota: 3000 });
    const free = await addKey(store, user.id);
    // Amounts of many sizes at once: each alone is covered, together they are twelve times as much.
    const wanted = Array.from({ length: 48 }, (_, nth) => ({
      amount: 1 + ((nth * 7919) % 10_000),
      apiKeyId: [limited.id, free.id, null][nth % 3] ?? null,
    }));
    const taken = await Promise.all(
      wanted.map(async ({ amount, apiKeyId }) => ({
        amount,
        apiKeyId,
        is: await reserve(user, amount, { apiKeyId }),
      })),
    );
    const sum = (only: typeof taken) => only.reduce((total, { amount }) => total + amount, 0);
    const open = taken.filter(({ is }) => is === 'ok');
    expect(open.length).toBeGreaterThan(0);
    expect(sum(open)).toBeLessThanOrEqual(20_000);
    expect(sum(open.filter(({ apiKeyId }) => apiKeyId === limited.id))).toBeLessThanOrEqual(3000);
    expect(await balance(user.id)).toBe(20_000 - sum(open));
    await requireBalanced(store, user.id);
  });

  test('a refused reservation leaves the key’s budget as it was', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 10 });
    const key = await addKey(store, user.id, { unlimitedQuota: false, quota: 500 });
    expect(await reserve(user, 100, { apiKeyId: key.id })).toBe('wallet_insufficient');
    expect((await store.apiKeys.byId(key.id))?.quota).toBe(500);
    expect(await balance(user.id)).toBe(10);
  });

  test('an unlimited key spends only the user’s balance', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 10 });
    const key = await addKey(store, user.id, { unlimitedQuota: true, quota: 0 });
    const taskId = newTaskId(Date.now());
    expect(await reserve(user, 10, { apiKeyId: key.id, taskId })).toBe('ok');
    expect((await store.apiKeys.byId(key.id))?.quota).toBe(0);
    expect(await store.ledger.byTask(taskId)).toMatchObject([
      { apiKeyId: key.id, kind: 'reserve', amount: -10, attempt: 0 },
    ]);
  });

  test('a key that is limited while its tasks run gets back only what they took of its limit', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 1000 });
    const key = await addKey(store, user.id, { unlimitedQuota: true, quota: 0 });
    const spend = async (ending: { kind: 'settle' | 'refund'; amount: number }, moves = false) => {
      const taskId = newTaskId(Date.now());
      const owner = { walletId: user.walletId, apiKeyId: key.id, taskId, attempt: 0, at: 1 };
      await reserve(user, 100, { apiKeyId: key.id, taskId });
      await store.apiKeys.update(key.id, user.id, { unlimitedQuota: false, quota: 500 });
      if (moves) {
        const sentence = { reason: 'ledger.moved', params: {}, message: '' };
        const replaced = { ...owner, attempt: 1, userId: user.id, amount: 120, note: sentence };
        expect(await store.ledger.replaceReservation(replaced)).toBe('ok');
      }
      expect(await store.ledger.post({ ...owner, ...ending, attempt: 2 })).toBe(true);
      const left = (await store.apiKeys.byId(key.id))?.quota;
      await store.apiKeys.update(key.id, user.id, { unlimitedQuota: true });
      return left;
    };
    expect(await spend({ kind: 'settle', amount: 40 })).toBe(500);
    expect(await spend({ kind: 'refund', amount: 100 })).toBe(500);
    expect(await spend({ kind: 'refund', amount: 120 }, true)).toBe(500);
    expect(await balance(user.id)).toBe(940);
    // What was reserved of a limit comes back to it.
    await store.apiKeys.update(key.id, user.id, { unlimitedQuota: false, quota: 500 });
    expect(await spend({ kind: 'settle', amount: 40 })).toBe(540);
    await requireBalanced(store, user.id);
  });

  test('a disabled user, a missing one and another user’s key reserve nothing; an amount of zero passes', async () => {
    const { store } = opened();
    const disabled = await addUser(store, { balance: 100, status: 2 });
    const user = await addUser(store, { balance: 100 });
    const strangersKey = await addKey(store, disabled.id);
    expect(await reserve(disabled, 1)).toBe('wallet_insufficient');
    expect(await reserve({ id: 999_999, walletId: user.walletId }, 1)).toBe('wallet_insufficient');
    expect(await reserve(user, 1, { apiKeyId: strangersKey.id })).toBe('key_insufficient');
    const taskId = newTaskId(Date.now());
    expect(await reserve(user, 0, { taskId })).toBe('ok');
    expect(Object.is((await store.ledger.byTask(taskId))[0]?.amount, 0)).toBe(true);
    expect(await balance(user.id)).toBe(100);
  });

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('an amount of %p is refused', async (amount) => {
    const user = await addUser(opened().store, { balance: 100 });
    await expect(reserve(user, amount)).rejects.toMatchObject({ code: 'store.broken_invariant' });
    expect(await balance(user.id)).toBe(100);
  });

  test('the same attempt is not reserved twice: the second throws and moves nothing', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 100 });
    const taskId = newTaskId(Date.now());
    expect(await reserve(user, 10, { taskId })).toBe('ok');
    await expect(reserve(user, 10, { taskId })).rejects.toMatchObject({ code: 'store.broken_invariant' });
    expect(await reserve(user, 10, { taskId, attempt: 1 })).toBe('ok');
    expect(await balance(user.id)).toBe(80);
  });

  test('what is held in memory leaves so much less of wallet, key and budgets; asking writes nothing', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 100 });
    const daily = (amount: number) => ({ amount, period: 'day' }) as const;
    await store.users.update(user.id, { budget: daily(90) });
    const key = await addKey(store, user.id, { unlimitedQuota: false, quota: 95, budget: daily(80) });
    const entry = {
      ...{ walletId: user.walletId, userId: user.id, apiKeyId: key.id, attempt: 1, at: 1 },
      budgets: { zone: 'UTC', group: { name: 'default', budget: daily(85) } },
    };
    const nothing = { wallet: 0, key: 0, user: 0, group: 0 };
    const rows: [HeldAmounts, most: number][] = [
      [nothing, 80],
      [{ ...nothing, wallet: 21 }, 79],
      [{ ...nothing, key: 1 }, 79],
      [{ ...nothing, key: 16 }, 64],
      [{ ...nothing, user: 11 }, 79],
      [{ ...nothing, group: 6 }, 79],
    ];
    for (const [held, most] of rows) {
      const can = (amount: number) =>
        store.ledger.canReserveAll([{ ...entry, held, amount, taskId: newTaskId(Date.now()) }]);
      expect([held, await can(most), await can(most + 1)]).toEqual([held, [true], [false]]);
      const refused = await store.ledger.reserve({
        ...{ ...entry, held, amount: most + 1 },
        taskId: newTaskId(Date.now()),
      });
      expect(refused).not.toBe('ok');
    }
    // Each is asked for as if it came alone.
    const alone = [80, 80, 81].map((amount) => ({ ...entry, amount, taskId: 'x' }));
    expect(await store.ledger.canReserveAll([...alone, { ...entry, userId: 999_999, amount: 1, taskId: 'x' }])).toEqual(
      [...[true, true], ...[false, false]],
    );
    expect(await balance(user.id)).toBe(100);
    expect((await store.ledger.list(user.id, { page: 1, pageSize: 9 })).total).toBe(1);
  });

  test('what is owed is taken whatever is left, counts in the budgets, and outlives its key', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 100 });
    const budget = { amount: 50, period: 'total' } as const;
    const key = await addKey(store, user.id, { unlimitedQuota: false, quota: 10, budget });
    const owe = (taskId: string, apiKeyId: number) =>
      store.ledger.reserve({
        ...{ walletId: user.walletId, userId: user.id, apiKeyId, taskId, attempt: 1, amount: 130, at: 1 },
        isOwed: true,
      });
    const [first, second] = [newTaskId(Date.now()), newTaskId(Date.now())];
    expect(await owe(first, key.id)).toBe('ok');
    expect([await balance(user.id), (await store.apiKeys.byId(key.id))?.quota]).toEqual([-30, -120]);
    const { id } = findBudgetSum({ scope: 'key', keyId: key.id }, budget, { zone: 'UTC', at: 1 });
    expect((await store.ledger.budgetsSpent([id])).get(id)).toBe(130);
    const settle = { walletId: user.walletId, apiKeyId: key.id, kind: 'settle', attempt: 0, at: 1 } as const;
    await store.ledger.post({ ...settle, taskId: first, amount: 50 });
    expect((await store.ledger.budgetsSpent([id])).get(id)).toBe(80);
    await store.apiKeys.delete(key.id, user.id);
    expect(await owe(second, key.id)).toBe('ok');
    expect(await balance(user.id)).toBe(20 - 130);
    await requireBalanced(store, user.id);
  });

  test('20 equal concurrent postings move the money once, below zero too', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 100 });
    const key = await addKey(store, user.id, { unlimitedQuota: false, quota: 100 });
    const post = {
      walletId: user.walletId,
      apiKeyId: key.id,
      taskId: newTaskId(Date.now()),
      kind: 'settle',
      attempt: 0,
      amount: -130,
      at: 1,
    } as const;
    const moved = await Promise.all(Array.from({ length: 20 }, () => store.ledger.post(post)));
    expect(moved.filter(Boolean)).toHaveLength(1);
    expect([await balance(user.id), (await store.apiKeys.byId(key.id))?.quota]).toEqual([-30, -30]);
    expect(await store.ledger.post({ ...post, kind: 'refund', amount: 130 })).toBe(true);
    expect([await balance(user.id), (await store.apiKeys.byId(key.id))?.quota]).toEqual([100, 100]);
    await requireBalanced(store, user.id);
  });

  test('a posting for a key deleted since still moves the user’s money; one for a missing wallet throws', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 100 });
    const post = {
      walletId: user.walletId,
      apiKeyId: 999_999,
      taskId: newTaskId(Date.now()),
      kind: 'refund',
      attempt: 0,
      amount: 5,
      at: 1,
    } as const;
    expect(await store.ledger.post(post)).toBe(true);
    expect(await balance(user.id)).toBe(105);
    await expect(store.ledger.post({ ...post, walletId: 999_999, attempt: 1 })).rejects.toMatchObject({
      code: 'store.broken_invariant',
    });
    expect(await store.ledger.byTask(post.taskId)).toHaveLength(1);
  });

  test('a grant is given once under its key, concurrently and later', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const grant = {
      walletId: user.walletId,
      kind: 'grant',
      key: `set-up ${user.id}`,
      amount: 100_000_000,
      at: 1,
    } as const;
    const given = await Promise.all(Array.from({ length: 20 }, () => store.ledger.grant(grant)));
    expect(given.filter(Boolean)).toHaveLength(1);
    expect(await store.ledger.grant(grant)).toBe(false);
    expect(await balance(user.id)).toBe(100_000_000);
    expect(
      await store.ledger.grant({ ...grant, kind: 'topup', key: `top-up ${user.id}`, amount: 5, note: 'paid' }),
    ).toBe(true);
    const { items } = await store.ledger.list(user.id, { page: 1, pageSize: 10 });
    expect(items).toMatchObject([
      { kind: 'topup', amount: 5, note: 'paid', taskId: null, apiKeyId: null },
      { kind: 'grant', amount: 100_000_000 },
    ]);
    expect(Object.keys(items[0] ?? {})).not.toContain('grantKey');
  });

  test('usage is counted for user, key and channel', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 100 });
    const key = await addKey(store, user.id);
    await Promise.all(
      Array.from({ length: 10 }, () =>
        store.ledger.addUsage({ walletId: user.walletId, apiKeyId: key.id, channelId: 1, quota: 3 }),
      ),
    );
    await store.ledger.addUsage({ walletId: user.walletId, apiKeyId: null, channelId: 1, quota: 0 });
    // What was charged for a job that failed later is taken out again; the request stays counted.
    const correction = { channelId: 1, requests: 0 as const };
    for (const quota of [4, -4])
      await store.ledger.addUsage({ ...correction, walletId: user.walletId, apiKeyId: key.id, quota });
    expect(await store.users.byId(user.id)).toMatchObject({ usedQuota: 30, requestCount: 11, quota: 100 });
    expect((await store.apiKeys.byId(key.id))?.usedQuota).toBe(30);
  });

  test('imbalances name exactly the wallets and ended tasks whose lines do not add up', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 1000 });
    const ended = async (quota: number, lines: number[]) => {
      const task = await store.tasks.insert(newTask({ userId: user.id, quota }));
      for (const [attempt, amount] of lines.entries()) {
        await store.ledger.post({
          walletId: user.walletId,
          apiKeyId: null,
          taskId: task.taskId,
          kind: 'settle',
          attempt,
          amount,
          at: 1,
        });
      }
      await store.tasks.advance(readLease(task), { status: 'SUCCESS' }, null);
      return task.taskId;
    };
    await ended(10, [-30, 20]);
    await ended(0, []);
    const unbilled = await ended(7, []);
    const double = await ended(5, [-5, -5]);
    await store.tasks.insert(newTask({ userId: user.id, quota: 99 }));
    const found = await store.ledger.imbalances(100);
    expect(found.tasks).toEqual([
      { taskId: unbilled, quota: 7, ledger: 0 },
      { taskId: double, quota: 5, ledger: -10 },
    ]);
    expect(found.wallets).toEqual([]);
    expect((await store.ledger.imbalances(1)).tasks).toHaveLength(1);
  });
});
