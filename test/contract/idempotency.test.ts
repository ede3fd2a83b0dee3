import { expect, test } from 'bun:test';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';

const HASH = 'a'.repeat(64);

describeEachStore('idempotency keys', (opened) => {
  test('a key belongs to one user until it expires', async () => {
    const { store } = opened();
    const [owner, other] = [await addUser(store), await addUser(store)];
    const record = { userId: owner.id, key: 'order 1', requestHash: HASH, taskId: 'task_1', expiresAt: 200 };
    expect(await store.idempotency.find(owner.id, 'order 1', 100)).toBeUndefined();
    expect(await store.idempotency.take({ ...record, at: 100 })).toBe(true);
    expect(await store.idempotency.find(owner.id, 'order 1', 199)).toEqual(record);
    expect(await store.idempotency.find(owner.id, 'Order 1', 199)).toBeUndefined();
    expect(await store.idempotency.find(other.id, 'order 1', 199)).toBeUndefined();
    expect(await store.idempotency.take({ ...record, taskId: 'task_2', at: 199 })).toBe(false);
    expect(await store.idempotency.take({ ...record, userId: other.id, at: 199 })).toBe(true);
    expect(await store.idempotency.find(owner.id, 'order 1', 200)).toBeUndefined();
    const next = { ...record, requestHash: 'b'.repeat(64), taskId: 'task_3', expiresAt: 300 };
    expect(await store.idempotency.take({ ...next, at: 200 })).toBe(true);
    expect(await store.idempotency.find(owner.id, 'order 1', 200)).toEqual(next);
  });

  test('of 20 concurrent transactions one takes the key; when that one is rolled back, another does', async () => {
    const { store } = opened();
    const { id: userId } = await addUser(store);
    let taken = 0;
    const attempts = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        store.transaction(async (tx) => {
          const record = { userId, key: 'k', requestHash: HASH, taskId: `task_${i}`, expiresAt: 200, at: 100 };
          if (!(await tx.idempotency.take(record))) return undefined;
          taken += 1;
          if (taken === 1) throw new Error('the balance is too low');
          return record.taskId;
        }),
      ),
    );
    const winners = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' && attempt.value) || []);
    expect([taken, winners.length]).toEqual([2, 1]);
    expect((await store.idempotency.find(userId, 'k', 150))?.taskId).toBe(winners[0] as string);
  });

  test('only expired keys are deleted, in batches', async () => {
    const { store } = opened();
    const { id: userId } = await addUser(store);
    await store.idempotency.deleteExpired(10_000, 1000);
    for (let i = 0; i < 7; i += 1) {
      const expiresAt = 500 + i * 100;
      const record = { userId, key: `${i}`, requestHash: HASH, taskId: `task_${i}`, expiresAt, at: 1 };
      expect(await store.idempotency.take(record)).toBe(true);
    }
    const deleted: number[] = [];
    for (let i = 0; i < 3; i += 1) deleted.push(await store.idempotency.deleteExpired(900, 3));
    expect(deleted).toEqual([3, 2, 0]);
    expect(await store.idempotency.find(userId, '4', 1)).toBeUndefined();
    expect(await store.idempotency.find(userId, '5', 1)).toBeDefined();
  });
});
