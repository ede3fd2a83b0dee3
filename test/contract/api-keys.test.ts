import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, describeEachStore } from './each-store.ts';

describeEachStore('API keys', (opened) => {
  test('a key is found by its hash together with its owner', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 500 });
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
    const {
      keyHash,
      prefix,
      formerHash,
      formerPrefix,
      formerUntil,
      webhookFormers,
      createdAt,
      lastUsedIp,
      ...presented
    } = key;
    const owner = {
      ...{ id: user.id, role: user.role, status: user.status, group: user.group },
      ...{ requestsPerMinute: null, maxRunning: null },
    };
    expect(await store.apiKeys.byHash(key.keyHash, 1)).toEqual({ key: presented, user: owner });
    expect(await store.apiKeys.byId(key.id)).toEqual(key);
    expect(await store.apiKeys.byHash('unknown', 1)).toBeUndefined();
  });

  test('a key is usable while it is enabled and unexpired and its user enabled, even with an empty budget', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const off = await addUser(store, { status: 2 });
    const good = await addKey(store, user.id, { unlimitedQuota: false, quota: 0 });
    const later = await addKey(store, user.id, { expiresAt: 2001 });
    const expired = await addKey(store, user.id, { expiresAt: 2000 });
    const disabled = await addKey(store, user.id, { status: 2 });
    const orphaned = await addKey(store, off.id);
    const hashes = [good, later, expired, disabled, orphaned].map(({ keyHash }) => keyHash);
    expect(await store.apiKeys.usable([...hashes, 'unknown'], 2000)).toEqual([good.keyHash, later.keyHash]);
  });

  test('a replaced key is found until its end or the next rotation, and is usable as long', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const key = await addKey(store, user.id, { prefix: 'sk-old' });
    const readId = async (hash: string, now: number) => (await store.apiKeys.byHash(hash, now))?.key.id;
    const [second, third] = [randomAlnum(64), randomAlnum(64)];
    const rotation = { presentHash: key.keyHash, keyHash: second, prefix: 'sk-new', formerUntil: 2000 };
    expect(await store.apiKeys.rotate(key.id, user.id + 1, rotation)).toBeUndefined();
    expect(await store.apiKeys.rotate(key.id, user.id, rotation)).toEqual({
      ...key,
      keyHash: second,
      prefix: 'sk-new',
      formerHash: key.keyHash,
      formerPrefix: 'sk-old',
      formerUntil: 2000,
    });
    expect(await readId(key.keyHash, 1999)).toBe(key.id);
    expect(await readId(key.keyHash, 2000)).toBeUndefined();
    expect(await readId(second, 2000)).toBe(key.id);
    expect(await store.apiKeys.usable([key.keyHash, second], 1999)).toEqual([key.keyHash, second]);
    expect(await store.apiKeys.usable([key.keyHash, second], 2000)).toEqual([second]);

    expect(await store.apiKeys.rotate(key.id, user.id, rotation)).toBeUndefined();
    await store.apiKeys.rotate(key.id, user.id, { ...rotation, presentHash: second, keyHash: third });
    expect(await readId(key.keyHash, 1999)).toBeUndefined();
    expect(await readId(second, 1999)).toBe(key.id);
    expect(await store.apiKeys.endFormer(key.id, user.id + 1)).toBeUndefined();
    expect(await store.apiKeys.endFormer(key.id, user.id)).toMatchObject({ formerHash: '', formerUntil: 0 });
    expect(await readId(second, 1999)).toBeUndefined();
    expect(await readId(third, 1999)).toBe(key.id);

    const keeping = { ...rotation, presentHash: third, keyHash: second, keepsFormer: true };
    expect(await store.apiKeys.rotate(key.id, user.id, keeping)).toBeUndefined();
    await store.apiKeys.rotate(key.id, user.id, { ...rotation, presentHash: third, keyHash: key.keyHash });
    await store.apiKeys.rotate(key.id, user.id, { ...keeping, presentHash: key.keyHash });
    expect(await readId(key.keyHash, 1999)).toBeUndefined();
    expect([await readId(third, 1999), await readId(second, 1999)]).toEqual([key.id, key.id]);
    expect(await store.apiKeys.forgetFormers(1999, 10)).toBe(0);
    expect(await store.apiKeys.forgetFormers(2000, 10)).toBe(1);
    expect(await store.apiKeys.byId(key.id)).toMatchObject({ keyHash: second, formerHash: '', formerPrefix: '' });
  });

  test('only the owner’s keys are changed and deleted', async () => {
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
    const use = { at: 4711, ip: '2001:db8::7' };
    await store.apiKeys.touch(key.id, use);
    expect(await store.apiKeys.byId(key.id)).toMatchObject({ lastUsedAt: use.at, lastUsedIp: use.ip });
    expect(await store.apiKeys.delete(key.id, owner.id)).toBe(true);
    expect(await store.apiKeys.byId(key.id)).toBeUndefined();
  });

  test('lists the owner’s keys, the newest first', async () => {
    const { store } = opened();
    const [owner, other] = [await addUser(store), await addUser(store)];
    const mine = [await addKey(store, owner.id), await addKey(store, owner.id)];
    await addKey(store, other.id);
    const page = await store.apiKeys.list(owner.id, { page: 1, pageSize: 10 });
    expect(page).toEqual({ total: 2, hasMore: false, items: mine.reverse() });
  });

  test('names are found by a part of them or of the owner’s, whose keys one may ask for, one’s own first', async () => {
    const { store } = opened();
    const owner = await addUser(store, { username: `mira-${randomAlnum(8)}` });
    const other = await addUser(store, { username: `li-${randomAlnum(8)}` });
    const mark = randomAlnum(8);
    const first = await addKey(store, owner.id, { name: `Render ${mark} 100%` });
    const second = await addKey(store, other.id, { name: `render ${mark} 1000` });
    const third = await addKey(store, owner.id, { name: 'Editing' });
    const find = async (search: Omit<Parameters<typeof store.apiKeys.names>[0], 'firstOf'>, limit = 10) =>
      (await store.apiKeys.names({ firstOf: owner.id, ...search }, limit)).map(({ id }) => id);
    expect(await find({ keyword: `RENDER ${mark}` })).toEqual([first.id, second.id]);
    expect(await find({ keyword: `${mark} 100%` })).toEqual([first.id]);
    expect(await find({ keyword: mark, userId: other.id })).toEqual([second.id]);
    expect(await find({ keyword: owner.username })).toEqual([third.id, first.id]);
    expect(await find({ keyword: owner.username, userId: owner.id })).toEqual([]);
    expect(await find({ keyword: owner.username }, 1)).toEqual([third.id]);
    await store.apiKeys.touch(second.id, { at: 4711, ip: '203.0.113.9' });
    expect(await store.apiKeys.names({ id: second.id, firstOf: owner.id }, 10)).toEqual([
      {
        ...{ id: second.id, name: second.name, userId: other.id, username: other.username, role: other.role },
        ...{ lastUsedAt: 4711, lastUsedIp: '203.0.113.9' },
      },
    ]);
    expect(await find({ id: second.id, userId: owner.id })).toEqual([]);
  });

  test('a key without a user, or a second one with the same hash, breaks an invariant', async () => {
    const { store } = opened();
    const key = await addKey(store, (await addUser(store)).id);
    await expect(addKey(store, 999_999)).rejects.toMatchObject({ code: 'store.broken_invariant', kind: 'internal' });
    await expect(addKey(store, key.userId, { keyHash: key.keyHash })).rejects.toMatchObject({
      code: 'store.broken_invariant',
    });
  });
});
