import { expect, test } from 'bun:test';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';

describeEachStore('views of the task list', (opened) => {
  test('a name is one view of its user, the newest first, and a full account takes no other name', async () => {
    const { store } = opened();
    const [{ id: userId }, { id: otherId }] = [await addUser(store), await addUser(store)];
    const save = (name: string, query: string, max = 2) =>
      store.transaction(async (tx) => {
        await tx.users.lock([userId]);
        return tx.taskViews.save({ userId, name, query, createdAt: 7 }, max);
      });
    const first = await save('Failed', 'status=FAILURE');
    expect(first).toEqual({ id: expect.any(Number), userId, name: 'Failed', query: 'status=FAILURE', createdAt: 7 });
    const second = await save('Dear', 'sort=cost');
    expect(await save('Third', '')).toBeUndefined();
    expect(await save('Failed', 'status=FAILURE&period=7d')).toMatchObject({ id: Number(first?.id) });
    await store.taskViews.save({ userId: otherId, name: 'Failed', query: '', createdAt: 8 }, 2);
    const listed = await store.taskViews.list(userId);
    expect(listed.map(({ name, query }) => [name, query])).toEqual([
      ['Dear', 'sort=cost'],
      ['Failed', 'status=FAILURE&period=7d'],
    ]);
    expect(await store.taskViews.delete(Number(second?.id), otherId)).toBeUndefined();
    expect(await store.taskViews.delete(Number(second?.id), userId)).toEqual(second);
    expect(await store.taskViews.deleteAll(userId)).toBe(1);
    expect(await store.taskViews.list(otherId)).toHaveLength(1);
  });

  test('saved at the same time, views do not exceed the limit together', async () => {
    const { store } = opened();
    const { id: userId } = await addUser(store);
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        store.transaction(async (tx) => {
          await tx.users.lock([userId]);
          return tx.taskViews.save({ userId, name: `view ${index}`, query: '', createdAt: index }, 3);
        }),
      ),
    );
    expect(await store.taskViews.list(userId)).toHaveLength(3);
  });
});
