import { expect, test } from 'bun:test';
import { addKey, addUser, describeEachStore } from './each-store.ts';

describeEachStore('API keys', (opened) => {
  test('a key is found by its hash together with its owner', async () => {
    const { store } = opened();
    const user = await addUser(store, 500);
    const key = await addKey(store, user.id, {
      models: ['a', 'b'],
      allowIps: ['10.0.0.0/8'],
      unlimitedQuota: false,
      quota: 7,
    });
    expect(key).toMatchObject({
      models: ['a', 'b'],
      allowIps: ['10.0.0.0/8'],
      unlimitedQuota: false,
      quota: 7,
      usedQuota: 0,
    });
    expect(await store.apiKeys.byHash(key.keyHash)).toEqual({ key, user });
    expect(await store.apiKeys.byId(key.id)).toEqual(key);
    expect(await store.apiKeys.byHash('unknown')).toBeUndefined();
  });

  test('changes and deletion reach the owner’s keys alone', async () => {
    const { store } = opened();
    const [owner, other] = [await addUser(store), await addUser(store)];
    const key = await addKey(store, owner.id);
    expect(await store.apiKeys.update(key.id, other.id, { name: 'stolen' })).toBeUndefined();
    expect(await store.apiKeys.delete(key.id, other.id)).toBe(false);
    expect(await store.apiKeys.update(key.id, owner.id, {})).toEqual(key);
    const changed = await store.apiKeys.update(key.id, owner.id, {
      name: 'new',
      models: ['m'],
      group: 'vip',
      status: 2,
    });
    expect(changed).toEqual({ ...key, name: 'new', models: ['m'], group: 'vip', status: 2 });
    await store.apiKeys.touch(key.id, 4711);
    expect((await store.apiKeys.byId(key.id))?.lastUsedAt).toBe(4711);
    expect(await store.apiKeys.delete(key.id, owner.id)).toBe(true);
    expect(await store.apiKeys.byId(key.id)).toBeUndefined();
  });

  test('lists the owner’s keys, the newest first', async () => {
    const { store } = opened();
    const [owner, other] = [await addUser(store), await addUser(store)];
    const mine = [await addKey(store, owner.id), await addKey(store, owner.id)];
    await addKey(store, other.id);
    const page = await store.apiKeys.list(owner.id, { page: 1, pageSize: 10 });
    expect(page).toEqual({ total: 2, items: mine.reverse() });
  });

  test('a key of nobody, or a second one of the same hash, breaks an invariant', async () => {
    const { store } = opened();
    const key = await addKey(store, (await addUser(store)).id);
    await expect(addKey(store, 999_999)).rejects.toMatchObject({ code: 'store.broken_invariant', kind: 'internal' });
    await expect(addKey(store, key.userId, { keyHash: key.keyHash })).rejects.toMatchObject({
      code: 'store.broken_invariant',
    });
  });
});
