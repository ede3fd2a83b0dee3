import { expect, test } from 'bun:test';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';

const LOCK = { now: 1000, limit: 5, lockSeconds: 300 };
const times = <T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)));

describeEachStore('two-factor', (opened) => {
  async function addFactor(store: Store): Promise<number> {
    const { id } = await addUser(store);
    expect(await store.twoFactor.begin({ userId: id, secretSealed: 'sealed', createdAt: 100 })).toBe(true);
    expect(await store.twoFactor.enable(id, 'sealed', 110)).toBe(true);
    return id;
  }

  test('a set-up is pending until confirmed, and a new one replaces it', async () => {
    const { twoFactor } = opened().store;
    const { id: userId } = await addUser(opened().store);
    expect(await twoFactor.byUser(userId)).toBeUndefined();
    const fresh = { userId, enabled: false, lastStep: 0, failures: 0, lockedUntil: 0 };
    expect(await twoFactor.begin({ userId, secretSealed: 'first', createdAt: 100 })).toBe(true);
    expect(await twoFactor.byUser(userId)).toEqual({ ...fresh, secretSealed: 'first', createdAt: 100 });
    await twoFactor.countAttempt(userId, { ...LOCK, limit: 1 });
    await twoFactor.useStep(userId, 55);
    expect(await twoFactor.begin({ userId, secretSealed: 'second', createdAt: 200 })).toBe(true);
    expect(await twoFactor.byUser(userId)).toEqual({ ...fresh, secretSealed: 'second', createdAt: 200 });
  });

  test('enabled second factors are listed page by page, pending ones are not', async () => {
    const { store } = opened();
    const { id: pending } = await addUser(store);
    await store.twoFactor.begin({ userId: pending, secretSealed: 'sealed', createdAt: 100 });
    const ids = [await addFactor(store), await addFactor(store), await addFactor(store)];
    const first = await store.twoFactor.enabledAfter(pending, 2);
    expect(first).toEqual(ids.slice(0, 2).map((userId) => ({ userId, secretSealed: 'sealed' })));
    expect((await store.twoFactor.enabledAfter(ids[1] ?? 0, 2)).map(({ userId }) => userId)).toEqual(ids.slice(2));
  });

  test('exactly the confirmed secret is enabled, once, and no set-up replaces it', async () => {
    const { twoFactor } = opened().store;
    const { id: userId } = await addUser(opened().store);
    expect(await twoFactor.enable(userId, 'second', 210)).toBe(false);
    await twoFactor.begin({ userId, secretSealed: 'second', createdAt: 200 });
    expect(await twoFactor.enable(userId, 'first', 210)).toBe(false);
    expect((await times(10, () => twoFactor.enable(userId, 'second', 210))).filter(Boolean)).toHaveLength(1);
    const enabled = await twoFactor.byUser(userId);
    expect(enabled).toMatchObject({ enabled: true, secretSealed: 'second', createdAt: 210 });
    expect(await twoFactor.begin({ userId, secretSealed: 'third', createdAt: 300 })).toBe(false);
    expect(await twoFactor.byUser(userId)).toEqual(enabled);
  });

  test('code replay: one of 50 concurrent uses of a time step wins, and no earlier step is accepted after it', async () => {
    const { store } = opened();
    const userId = await addFactor(store);
    expect((await times(50, () => store.twoFactor.useStep(userId, 100))).filter(Boolean)).toHaveLength(1);
    expect(await store.twoFactor.useStep(userId, 99)).toBe(false);
    expect(await store.twoFactor.useStep(userId, 101)).toBe(true);
    expect(await store.twoFactor.byUser(userId)).toMatchObject({ lastStep: 101 });
    expect(await store.twoFactor.useStep(999_999, 101)).toBe(false);
  });

  test('code guessing: of 50 concurrent attempts only the limit passes, then none until the lock ends', async () => {
    const { store } = opened();
    const userId = await addFactor(store);
    const counts = (await times(50, () => store.twoFactor.countAttempt(userId, LOCK))).filter((n) => n !== undefined);
    expect(counts.sort()).toEqual([1, 2, 3, 4, 5]);
    expect(await store.twoFactor.byUser(userId)).toMatchObject({ failures: 5, lockedUntil: 1300 });
    expect(await store.twoFactor.countAttempt(userId, { ...LOCK, now: 1299 })).toBeUndefined();
    // One try per lock, however many come concurrently.
    const later = await times(50, () => store.twoFactor.countAttempt(userId, { ...LOCK, now: 1300 }));
    expect(later.filter((n) => n !== undefined)).toEqual([6]);
    expect(await store.twoFactor.byUser(userId)).toMatchObject({ lockedUntil: 1600 });
    expect(await store.twoFactor.countAttempt(999_999, LOCK)).toBeUndefined();
  });

  test('a right code clears the attempts; after a backup code the caller clears them', async () => {
    const { store } = opened();
    const userId = await addFactor(store);
    await times(5, () => store.twoFactor.countAttempt(userId, LOCK));
    expect(await store.twoFactor.useStep(userId, 100)).toBe(true);
    expect(await store.twoFactor.byUser(userId)).toMatchObject({ failures: 0, lockedUntil: 0 });
    expect(await store.twoFactor.countAttempt(userId, LOCK)).toBe(1);
    await store.twoFactor.clearAttempts(userId);
    expect(await store.twoFactor.countAttempt(userId, LOCK)).toBe(1);
  });

  test('an attempt that does not count is taken back with its lock, and never more than were counted', async () => {
    const { store } = opened();
    const userId = await addFactor(store);
    await times(5, () => store.twoFactor.countAttempt(userId, LOCK));
    await store.twoFactor.giveBackAttempt(userId);
    expect(await store.twoFactor.byUser(userId)).toMatchObject({ failures: 4, lockedUntil: 0 });
    expect(await store.twoFactor.countAttempt(userId, LOCK)).toBe(5);
    expect(await store.twoFactor.countAttempt(userId, LOCK)).toBeUndefined();
    await times(9, () => store.twoFactor.giveBackAttempt(userId));
    expect(await store.twoFactor.countAttempt(userId, LOCK)).toBe(1);
    await store.twoFactor.giveBackAttempt(999_999);
  });

  test('code replay: of 50 concurrent uses of one backup code, one wins, under any of its digests', async () => {
    const { store } = opened();
    const userId = await addFactor(store);
    await store.twoFactor.replaceBackupCodes(userId, ['a', 'b', 'c'], 100);
    const used = await times(50, () => store.twoFactor.useBackupCode(userId, ['x', 'b'], 1000));
    expect(used.filter(Boolean)).toHaveLength(1);
    expect(await store.twoFactor.countBackupCodes(userId)).toBe(2);
    expect(await store.twoFactor.useBackupCode(userId, ['unknown'], 1000)).toBe(false);
    expect(await store.twoFactor.useBackupCode(userId, [], 1000)).toBe(false);
    expect(await store.twoFactor.useBackupCode(userId, ['a', 'c'], 1000)).toBe(true);
    expect(await store.twoFactor.countBackupCodes(userId)).toBe(1);
  });

  test('a backup code works only for its owner', async () => {
    const { store } = opened();
    const [owner, other] = [await addFactor(store), await addFactor(store)];
    for (const id of [owner, other]) await store.twoFactor.replaceBackupCodes(id, ['same'], 100);
    expect(await store.twoFactor.useBackupCode(other, ['same'], 1000)).toBe(true);
    expect(await store.twoFactor.countBackupCodes(owner)).toBe(1);
  });

  test('new backup codes replace the old ones; of ten concurrent sets one stays', async () => {
    const { store } = opened();
    const userId = await addFactor(store);
    await store.twoFactor.replaceBackupCodes(userId, ['old-1', 'old-2'], 100);
    await times(10, (i) =>
      store.twoFactor.replaceBackupCodes(
        userId,
        [0, 1, 2].map((j) => `${i}-${j}`),
        200,
      ),
    );
    expect(await store.twoFactor.countBackupCodes(userId)).toBe(3);
    expect(await store.twoFactor.useBackupCode(userId, ['old-1', 'old-2'], 1000)).toBe(false);
    await store.twoFactor.replaceBackupCodes(userId, [], 300);
    expect(await store.twoFactor.countBackupCodes(userId)).toBe(0);
  });

  test('removal deletes the backup codes too, once, also in the caller’s transaction', async () => {
    const { store } = opened();
    const userId = await addFactor(store);
    const bystander = await addFactor(store);
    for (const id of [userId, bystander]) await store.twoFactor.replaceBackupCodes(id, ['a'], 100);
    const attempt = store.transaction(async (tx) => {
      await tx.twoFactor.delete(userId);
      throw new Error('later');
    });
    await expect(attempt).rejects.toThrow('later');
    expect(await store.twoFactor.countBackupCodes(userId)).toBe(1);

    expect((await times(10, () => store.twoFactor.delete(userId))).filter(Boolean)).toHaveLength(1);
    expect(await store.twoFactor.byUser(userId)).toBeUndefined();
    expect(await store.twoFactor.countBackupCodes(userId)).toBe(0);
    expect(await store.twoFactor.byUser(bystander)).toMatchObject({ enabled: true });
    expect(await store.twoFactor.countBackupCodes(bystander)).toBe(1);
  });
});
