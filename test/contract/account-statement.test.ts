import { expect, test } from 'bun:test';
import { createAccountStatements } from '../../src/billing/index.ts';
import { newTaskId, quoted, type Sentence } from '../../src/kernel/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore, newTask } from './each-store.ts';

describeEachStore('account statement', (opened) => {
  const statements = () => createAccountStatements(opened().store.ledger);
  const whole = { page: 1, pageSize: 100 };

  async function account(balance = 1000) {
    const { store } = opened();
    const { id: userId, walletId } = await addUser(store, { balance });
    const post = (
      taskId: string,
      kind: 'settle' | 'refund',
      { amount, ...more }: { amount: number; attempt?: number; note?: Sentence },
    ) =>
      store.transaction((tx) =>
        tx.ledger.post({ walletId, apiKeyId: null, taskId, kind, attempt: 0, amount, at: 20, ...more }),
      );
    const reserve = async (amount: number, taskId = newTaskId(Date.now()), attempt = 1) => {
      await store.transaction((tx) =>
        tx.ledger.reserve({ walletId, userId, apiKeyId: null, taskId, attempt, amount, at: 10 }),
      );
      return taskId;
    };
    const grant = (key: string, amount: number, more: object = {}) =>
      store.transaction((tx) =>
        tx.ledger.grant({ walletId, kind: 'adjust', key: `${userId}:${key}`, amount, at: 30, ...more }),
      );
    return { userId, post, reserve, grant };
  }

  test('has one row a task, and each balance is that of the row below plus its amount', async () => {
    const { userId, post, reserve, grant } = await account();
    const first = await reserve(100);
    const second = await reserve(50);
    await post(first, 'settle', { amount: 20 });
    await grant('topup', 500, { reason: 'topup', note: 'invoice 7', actorId: userId, aboutTaskId: second });
    await post(second, 'refund', { amount: 50, note: quoted('The vendor refused the key.') });
    const { total, items } = await statements().list(userId, {}, whole);
    expect(total).toBe(4);
    expect(items).toMatchObject([
      { kind: 'topup', amount: 500, balanceAfter: 1420, note: 'invoice 7', taskId: second, task: null },
      {
        kind: 'task',
        amount: 0,
        balanceAfter: 920,
        taskId: second,
        task: { reserved: 50, charged: 0, refundReason: 'The vendor refused the key.' },
      },
      { kind: 'task', amount: -80, balanceAfter: 920, taskId: first, task: { reserved: 100, charged: 80 } },
      { kind: 'grant', amount: 1000, balanceAfter: 1000 },
    ]);
    expect(items[0]?.actor?.id).toBe(userId);
  });

  test('counts a replaced reservation once', async () => {
    const { userId, post, reserve } = await account();
    const task = await reserve(100);
    await post(task, 'refund', { amount: 100, attempt: 1, note: quoted('moved to another channel') });
    await reserve(70, task, 2);
    const [row] = (await statements().list(userId, {}, whole)).items;
    expect(row).toMatchObject({ amount: -70, balanceAfter: 930, task: { reserved: 70, refundReason: '' } });
  });

  test('pages, filters and the whole statement give the same rows with the same balances', async () => {
    const { userId, post, reserve, grant } = await account(1_000_000);
    const open: string[] = [];
    for (let index = 0; index < 150; index += 1) {
      open.push(await reserve(100 + index));
      // Tasks overlap, and some run on beyond the first read.
      if (index % 3 === 1) await post(open.shift() ?? '', 'settle', { amount: 7 });
      if (index % 50 === 49) await grant(`g${index}`, 5000, { reason: 'topup' });
    }
    for (const [index, task] of open.entries()) if (index % 2 === 0) await post(task, 'refund', { amount: 1 });
    const all: { id: number; amount: number; balanceAfter: number; kind: string }[] = [];
    for await (const rows of statements().read(userId, {})) all.push(...rows);
    expect(all).toHaveLength(154);
    const { quota } = (await opened().store.users.byId(userId)) ?? { quota: Number.NaN };
    expect(all[0]?.balanceAfter).toBe(quota);
    expect(all.at(-1)?.balanceAfter).toBe(1_000_000);
    for (const [index, row] of all.entries()) {
      expect(row.balanceAfter - row.amount).toBe(all[index + 1]?.balanceAfter ?? 0);
    }
    const paged: unknown[] = [];
    for (let page = 1; page <= 11; page += 1) {
      const { total, items } = await statements().list(userId, {}, { page, pageSize: 15 });
      expect(total).toBe(154);
      paged.push(...items);
    }
    expect(paged).toEqual(all);
    const topups = await statements().list(userId, { kind: 'topup' }, { page: 1, pageSize: 2 });
    expect(topups).toEqual({
      total: 3,
      hasMore: false,
      items: all.filter(({ kind }) => kind === 'topup').slice(0, 2) as never,
    });
    expect(await statements().list(userId, { since: 11 }, whole)).toMatchObject({ total: 4 });
    expect(await statements().list(userId, { until: 10 }, whole)).toMatchObject({ total: 150 });
  });

  test('tells what tasks that have not ended hold of a sum', async () => {
    const { userId, post, reserve } = await account();
    await post(await reserve(100), 'settle', { amount: 20 });
    const { taskId } = await opened().store.tasks.insert(newTask({ userId }));
    await reserve(50, taskId);
    expect(await statements().sum(userId, { from: 0, until: 100 })).toMatchObject({ tasks: -130, reserved: -50 });
    expect(await statements().sum(userId, { from: 11, until: 100 })).toMatchObject({ tasks: 20, reserved: 0 });
  });

  test('an older change shows no machine words, and a user without lines has an empty statement', async () => {
    const { userId, grant } = await account();
    await grant('old', 5, { note: 'add 5' });
    expect((await statements().list(userId, {}, whole)).items[0]).toMatchObject({ kind: 'adjust', note: '' });
    expect(await statements().list(userId, {}, { page: 9, pageSize: 100 })).toEqual({
      total: 2,
      hasMore: false,
      items: [],
    });
    expect(await statements().list(999_999, {}, whole)).toEqual({ total: 0, hasMore: false, items: [] });
  });
});
