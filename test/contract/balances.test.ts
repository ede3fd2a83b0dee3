import { expect, test } from 'bun:test';
import { newTaskId, newUuid } from '../../src/kernel/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';

describeEachStore('balances under administration', (opened) => {
  const adjust = (walletId: number, amount: number, key = newUuid()) =>
    opened().store.ledger.grant({ walletId, kind: 'adjust', key, amount, note: 'by root', at: 2 });
  const setBalance = (walletId: number, to: number, key = newUuid()) =>
    opened().store.ledger.setBalance({ walletId, key, to, note: 'by root', at: 2 });
  const reserve = (userId: number, amount: number) =>
    opened().store.ledger.reserve({
      walletId: userId,
      userId,
      apiKeyId: null,
      taskId: newTaskId(Date.now()),
      attempt: 0,
      amount,
      at: 2,
    });
  const state = async (userId: number) => {
    const { ledger, users } = opened().store;
    const { items, total } = await ledger.list(userId, { page: 1, pageSize: 100 });
    expect(items).toHaveLength(total);
    return {
      quota: (await users.adminById(userId))?.quota,
      sum: items.reduce((sum, { amount }) => sum + amount, 0),
      lines: items,
    };
  };

  test('an addition, a subtraction and a new balance are one ledger line each', async () => {
    const user = await addUser(opened().store, { balance: 1000 });
    expect(await adjust(user.id, 50)).toBe(true);
    expect(await adjust(user.id, -200)).toBe(true);
    expect(await setBalance(user.id, 300)).toEqual({ before: 850, after: 300 });
    expect(await setBalance(user.id, 300)).toEqual({ before: 300, after: 300 });
    expect(await setBalance(user.id, 0)).toEqual({ before: 300, after: 0 });
    const { quota, sum, lines } = await state(user.id);
    expect([quota, sum]).toEqual([0, 0]);
    expect(lines.map(({ kind, amount, note }) => `${kind} ${amount} ${note}`)).toEqual([
      'adjust -300 by root',
      'adjust 0 by root',
      'adjust -550 by root',
      'adjust -200 by root',
      'adjust 50 by root',
      'grant 1000 ',
    ]);
  });

  test('the same key moves the money once, concurrently and later', async () => {
    const user = await addUser(opened().store, { balance: 100 });
    const key = newUuid();
    const added = await Promise.all(Array.from({ length: 20 }, () => adjust(user.id, 10, key)));
    expect(added.filter(Boolean)).toHaveLength(1);
    expect(await setBalance(user.id, 7, key)).toBeUndefined();
    const another = newUuid();
    const set = await Promise.all(Array.from({ length: 20 }, () => setBalance(user.id, 500, another)));
    expect(set.filter((moved) => moved !== undefined)).toEqual([{ before: 110, after: 500 }]);
    expect(await state(user.id)).toMatchObject({ quota: 500, sum: 500 });
  });

  test.each([0.5, Number.NaN, 2 ** 53])('a balance of %p is refused', async (to) => {
    const user = await addUser(opened().store, { balance: 100 });
    await expect(setBalance(user.id, to)).rejects.toMatchObject({ code: 'store.broken_invariant' });
    expect(await state(user.id)).toMatchObject({ quota: 100, sum: 100 });
  });

  test('the balance of a missing user is not set', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 100 });
    await store.users.softDelete(user.id, 1, 5);
    expect(await setBalance(user.id, 0)).toBeUndefined();
    expect(await setBalance(999_999, 0)).toBeUndefined();
    expect(await state(user.id)).toMatchObject({ quota: 100, sum: 100 });
  });

  test('lost update: concurrent additions, new balances and reservations on two nodes leave the sum of the lines', async () => {
    const { store, openAnother } = opened();
    const another = await openAnother();
    const user = await addUser(store, { balance: 1000 });
    const set: ({ before: number; after: number } | undefined)[] = [];
    let reserved = 0;
    await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const { ledger } = i % 2 ? store : another;
        const entry = { walletId: user.walletId, key: newUuid(), at: 2 };
        if (i % 6 < 2) await ledger.grant({ ...entry, kind: 'adjust', amount: i % 4 ? 100 : -30 });
        else if (i % 6 < 4) set.push(await ledger.setBalance({ ...entry, to: 500 + i }));
        else {
          const line = {
            walletId: user.walletId,
            userId: user.id,
            apiKeyId: null,
            taskId: newTaskId(Date.now()),
            attempt: 0,
            amount: 150,
            at: 2,
          };
          if ((await ledger.reserve(line)) === 'ok') reserved += 1;
        }
      }),
    );
    expect(set.filter((moved) => moved === undefined)).toEqual([]);
    const { quota, sum, lines } = await state(user.id);
    expect(quota).toBe(sum);
    expect(lines.filter(({ kind }) => kind === 'adjust')).toHaveLength(40);
    expect(lines.filter(({ kind }) => kind === 'reserve')).toHaveLength(reserved);
    expect((await store.ledger.imbalances(100)).wallets.filter(({ userId }) => userId === user.id)).toEqual([]);
    // A subtraction may have come last and left less than zero.
    expect(await reserve(user.id, Math.max(quota ?? 0, 0) + 1)).toBe('wallet_insufficient');
  });

  test('a balance set inside a failed transaction is unchanged', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 100 });
    const attempt = store.transaction(async (tx) => {
      expect(await tx.ledger.setBalance({ walletId: user.walletId, key: newUuid(), to: 1, at: 2 })).toEqual({
        before: 100,
        after: 1,
      });
      throw new Error('later');
    });
    await expect(attempt).rejects.toThrow('later');
    expect(await state(user.id)).toMatchObject({ quota: 100, sum: 100 });
  });
});
