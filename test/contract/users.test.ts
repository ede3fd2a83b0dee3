import { expect, test } from 'bun:test';
import { addUser, describeEachStore } from './each-store.ts';

describeEachStore('users', (opened) => {
  test('a new user comes back as stored, with an empty balance', async () => {
    const { users } = opened().store;
    const user = await users.insert({
      username: 'Zoë',
      displayName: 'Zoë \u{1F600}',
      passwordHash: '$argon2id$…',
      role: 100,
      status: 1,
      email: 'Zoe@Example.org',
      group: 'vip',
      language: 'fr',
      createdAt: 1_763_700_000,
    });
    expect(user).toMatchObject({ username: 'Zoë', role: 100, email: 'Zoe@Example.org', quota: 0, authVersion: 1 });
    expect(await users.byId(user?.id ?? 0)).toEqual(user as NonNullable<typeof user>);
    expect(await users.byId(999_999)).toBeUndefined();
  });

  test('names are unique ignoring case, under concurrency too', async () => {
    const { store } = opened();
    await addUser(store, 0, { username: 'Anna' });
    await expect(addUser(store, 0, { username: 'aNNA' })).rejects.toThrow('the name is taken');
    const tries = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => addUser(store, 0, { username: i % 2 ? 'racer' : 'RACER' })),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a login is a name ignoring case or an address, and a name wins', async () => {
    const { store } = opened();
    const byAddress = await addUser(store, 0, { username: 'owner', email: 'me@example.org' });
    expect(await store.users.byLogin('ME@example.ORG')).toMatchObject({ id: byAddress.id });
    const byName = await addUser(store, 0, { username: 'me@example.org' });
    expect(await store.users.byLogin('me@EXAMPLE.org')).toMatchObject({ id: byName.id });
    expect(await store.users.byLogin('nobody')).toBeUndefined();
  });

  test.each(['owner\0', "owner' or '1'='1", 'own%', 'own_r', ''])('a login of %p finds nobody', async (login) => {
    expect(await opened().store.users.byLogin(login)).toBeUndefined();
  });

  test('a password change moves the auth version once, against the expected version', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const tries = await Promise.all(
      Array.from({ length: 10 }, (_, i) => store.users.setPassword(user.id, `hash${i}`, 1)),
    );
    expect(tries.filter(Boolean)).toHaveLength(1);
    expect(await store.users.byId(user.id)).toMatchObject({
      authVersion: 2,
      passwordHash: `hash${tries.indexOf(true)}`,
    });
    expect(await store.users.setPassword(999_999, 'hash', 1)).toBe(false);
  });

  test('lists pages in order, filtered by literal text, and counts roles', async () => {
    const { store } = opened();
    const before = await store.users.countByRole(10);
    for (const name of ['list-a', 'list-b', 'list-c']) await addUser(store, 0, { username: name, role: 10 });
    expect(await store.users.countByRole(10)).toBe(before + 3);
    const first = await store.users.list({ page: 1, pageSize: 2 }, 'LIST-');
    const second = await store.users.list({ page: 2, pageSize: 2 }, 'LIST-');
    expect([first.total, second.total]).toEqual([3, 3]);
    expect([...first.items, ...second.items].map(({ username }) => username)).toEqual(['list-a', 'list-b', 'list-c']);
    expect((await store.users.list({ page: 1, pageSize: 10 }, 'list_')).total).toBe(0);
    await store.users.touchLogin(first.items[0]?.id ?? 0, 4711);
    expect(await store.users.byLogin('list-a')).toMatchObject({ lastLoginAt: 4711 });
  });
});
