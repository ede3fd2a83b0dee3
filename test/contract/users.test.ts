import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, describeEachStore } from './each-store.ts';
import { deleteUser } from './open-raw.ts';

describeEachStore('users', (opened) => {
  test('a new user is read as stored, with an empty balance', async () => {
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

  test('sign-in methods are the enabled second factor, passkeys and identities of one user', async () => {
    const { store } = opened();
    const [user, other] = [await addUser(store), await addUser(store)];
    const none = { twoFactor: false, passkeys: 0, identities: [] };
    expect(await store.users.signInMethods(user.id)).toEqual(none);
    await store.twoFactor.begin({ userId: user.id, secretSealed: 'sealed', createdAt: 1 });
    expect(await store.users.signInMethods(user.id)).toEqual(none);
    await store.twoFactor.enable(user.id, 'sealed', 2);
    for (const provider of ['oidc', 'github'])
      await store.identities.claim({ provider, subject: `of-${user.id}`, userId: user.id, createdAt: 1 });
    for (let i = 0; i < 2; i += 1) {
      const key = { publicKey: 'k', rpId: 'localhost', name: 'key', counter: 0, transports: [], backedUp: false };
      await store.passkeys.insert({ ...key, userId: user.id, credentialId: randomAlnum(20), createdAt: 1 });
    }
    expect(await store.users.signInMethods(user.id)).toEqual({
      twoFactor: true,
      passkeys: 2,
      identities: [
        { provider: 'github', subject: `of-${user.id}` },
        { provider: 'oidc', subject: `of-${user.id}` },
      ],
    });
    expect(await store.users.signInMethods(other.id)).toEqual(none);
  });

  test('names are unique ignoring case, under concurrency too', async () => {
    const { store } = opened();
    await addUser(store, { username: 'Anna' });
    await expect(addUser(store, { username: 'aNNA' })).rejects.toThrow('the name is taken');
    const tries = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => addUser(store, { username: i % 2 ? 'racer' : 'RACER' })),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a login is a name ignoring case or an address, and a name wins', async () => {
    const { store } = opened();
    const byAddress = await addUser(store, { username: 'owner', email: 'me@example.org' });
    expect(await store.users.byNameOrAddress('ME@example.ORG')).toMatchObject({ id: byAddress.id });
    const byName = await addUser(store, { username: 'me@example.org' });
    expect(await store.users.byNameOrAddress('me@EXAMPLE.org')).toMatchObject({ id: byName.id });
    expect(await store.users.byNameOrAddress('nobody')).toBeUndefined();
  });

  test.each(['owner\0', "owner' or '1'='1", 'own%', 'own_r', ''])('a login of %p finds nobody', async (login) => {
    expect(await opened().store.users.byNameOrAddress(login)).toBeUndefined();
  });

  test('a password change raises the auth version once, against the expected version', async () => {
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

  test('a changed factor raises the auth version once, against the expected version', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const tries = await Promise.all(Array.from({ length: 10 }, () => store.users.moveAuthVersion(user.id, 1)));
    expect(tries.filter(Boolean)).toHaveLength(1);
    expect(await store.users.byId(user.id)).toEqual({ ...user, authVersion: 2 });
    expect(await store.users.moveAuthVersion(999_999, 1)).toBe(false);
  });

  test('finds personal access tokens of enabled users', async () => {
    const { store } = opened();
    const [owner, other] = [await addUser(store), await addUser(store)];
    const off = await addUser(store, { status: 2 });
    for (const { id } of [owner, off]) {
      await store.users.setAccessToken(id, { hash: `hash-of-${id}`, prefix: 'tgp_', createdAt: 1 });
    }
    const hashes = [owner, other, off].map(({ id }) => `hash-of-${id}`);
    expect(await store.users.usableTokens(hashes)).toEqual([{ hash: `hash-of-${owner.id}`, role: owner.role }]);
    await store.users.setAccessToken(owner.id, { hash: 'another', prefix: 'tgp_', createdAt: 2 });
    expect(await store.users.usableTokens(hashes)).toEqual([]);
  });

  test('the version of artifact links rises with each revocation, also with concurrent ones', async () => {
    const { store } = opened();
    const user = await addUser(store);
    expect(user.linkVersion).toBe(0);
    await Promise.all(Array.from({ length: 5 }, () => store.users.moveLinkVersion(user.id)));
    expect(await store.users.byId(user.id)).toEqual({ ...user, linkVersion: 5 });
    expect(await store.users.moveLinkVersion(999_999)).toBe(false);
  });

  test('a personal access token finds its user until it is replaced or taken away', async () => {
    const { users } = opened().store;
    const user = await addUser(opened().store);
    const [first, second] = [randomAlnum(64), randomAlnum(64)];
    expect(await users.findAccessToken(user.id)).toBeUndefined();
    expect(await users.setAccessToken(user.id, { hash: first, prefix: 'tgp_abc', createdAt: 500 })).toBe(true);
    expect(await users.byAccessToken(first)).toEqual(user);
    expect(await users.findAccessToken(user.id)).toEqual({ prefix: 'tgp_abc', createdAt: 500 });
    expect(await users.setAccessToken(user.id, { hash: second, prefix: 'tgp_def', createdAt: 600 })).toBe(true);
    expect(await users.byAccessToken(first)).toBeUndefined();
    expect(await users.byAccessToken(second)).toEqual(user);
    expect(await users.setAccessToken(user.id, null)).toBe(true);
    expect(await users.byAccessToken(second)).toBeUndefined();
    expect(await users.findAccessToken(user.id)).toBeUndefined();
    expect(await users.setAccessToken(999_999, { hash: first, prefix: '', createdAt: 1 })).toBe(false);
  });

  test('a deleted user is not found: not by id, name, address, token or key, nor in lists', async () => {
    const { store } = opened();
    const name = `gone-${randomAlnum(12)}`;
    const user = await addUser(store, { balance: 1000, username: name, email: `${name}@example.org`, role: 10 });
    const key = await addKey(store, user.id);
    const hash = randomAlnum(64);
    await store.users.setAccessToken(user.id, { hash, prefix: 'tgp_abc', createdAt: 500 });
    const sightings = () =>
      Promise.all([
        store.users.byId(user.id),
        store.users.byNameOrAddress(name),
        store.users.byNameOrAddress(`${name}@example.org`),
        store.users.byAccessToken(hash),
        store.users.findAccessToken(user.id),
        store.apiKeys.byHash(key.keyHash, 1),
        store.users.search({ keyword: name, status: 1 }, { page: 1, pageSize: 10 }).then(({ items }) => items[0]),
      ]);
    expect((await sightings()).every((seen) => seen !== undefined)).toBe(true);
    await deleteUser(opened(), user.id);
    expect((await sightings()).filter((seen) => seen !== undefined)).toEqual([]);
    expect((await store.users.search({ keyword: name, status: 1 }, { page: 1, pageSize: 10 })).total).toBe(0);

    expect(await store.users.setPassword(user.id, 'hash', 1)).toBe(false);
    expect(await store.users.moveAuthVersion(user.id, 1)).toBe(false);
    expect(await store.users.setAccessToken(user.id, null)).toBe(false);
  });

  test('a deleted user reserves nothing, and the running task still settles', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 1000 });
    const entry = {
      walletId: user.walletId,
      userId: user.id,
      apiKeyId: null,
      taskId: `t-${user.id}`,
      attempt: 0,
      at: 1,
    };
    expect(await store.ledger.reserve({ ...entry, amount: 300 })).toBe('ok');
    await deleteUser(opened(), user.id);
    expect(await store.ledger.reserve({ ...entry, attempt: 1, amount: 1 })).toBe('wallet_insufficient');
    expect(await store.ledger.post({ ...entry, kind: 'refund', amount: 300 })).toBe(true);
    await store.ledger.addUsage({ walletId: user.walletId, apiKeyId: null, channelId: 1, quota: 0 });
    expect((await store.ledger.imbalances(100)).wallets.filter(({ userId }) => userId === user.id)).toEqual([]);
  });

  test('roles are counted, and a sign-in is stored', async () => {
    const { store } = opened();
    const before = await store.users.countByRole(10);
    const user = await addUser(store, { role: 10 });
    expect(await store.users.countByRole(10)).toBe(before + 1);
    await store.users.recordSignIn(user.id, 4711);
    expect(await store.users.byId(user.id)).toMatchObject({ lastLoginAt: 4711 });
  });
});
