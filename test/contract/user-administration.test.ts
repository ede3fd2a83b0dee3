import { expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { userRows } from '../../src/http/panel-api/export/row-sources.ts';
import { newTaskId, randomAlnum } from '../../src/kernel/index.ts';
import type { Page, Store, UserFilter, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, describeEachStore, newSession } from './each-store.ts';

const page = { page: 1, pageSize: 100 };

describeEachStore('administered users', (opened) => {
  test('role, status and password raise the auth version once, against the expected version', async () => {
    const { users } = opened().store;
    const user = await addUser(opened().store);
    const change = { role: 10, status: 2, passwordHash: 'hash' } as const;
    const tries = await Promise.all(Array.from({ length: 20 }, () => users.administer(user.id, change, 1)));
    expect(tries.filter(Boolean)).toHaveLength(1);
    expect(await users.byId(user.id)).toEqual({ ...user, ...change, authVersion: 2 });
    expect(await users.administer(user.id, { status: 1 }, 1)).toBe(false);
    expect(await users.administer(user.id, { status: 1 }, 2)).toBe(true);
    expect(await users.byId(user.id)).toEqual({ ...user, ...change, status: 1, authVersion: 3 });
    expect(await users.administer(999_999, change, 1)).toBe(false);
  });

  test('root is neither demoted, disabled nor deleted, whatever was read before; root’s password may change', async () => {
    const { store } = opened();
    const root = await addUser(store, { role: 100 });
    const attacks = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        [
          () => store.users.administer(root.id, { role: 1 }, 1),
          () => store.users.administer(root.id, { role: 10, passwordHash: 'stolen' }, 1),
          () => store.users.administer(root.id, { status: 2 }, 1),
          () => store.users.softDelete(root.id, 1, 500),
        ][i % 4]?.(),
      ),
    );
    expect(new Set(attacks)).toEqual(new Set([false]));
    expect(await store.users.byId(root.id)).toEqual(root);
    expect(await store.users.administer(root.id, { status: 1, passwordHash: 'new' }, 1)).toBe(true);
    expect(await store.users.byId(root.id)).toEqual({ ...root, passwordHash: 'new', authVersion: 2 });
  });

  test('of a concurrent promotion, disabling and deletion one happens', async () => {
    const { store } = opened();
    for (let round = 0; round < 10; round += 1) {
      const { id } = await addUser(store);
      const done = await Promise.all([
        store.users.administer(id, { role: 10 }, 1),
        store.users.administer(id, { status: 2 }, 1),
        store.users.softDelete(id, 1, 500),
      ]);
      expect(done.filter(Boolean)).toHaveLength(1);
      expect(await store.users.adminById(id)).toMatchObject({
        role: done[0] ? 10 : 1,
        status: done[0] ? 1 : 2,
        deletedAt: done[2] ? 500 : 0,
        authVersion: 2,
      });
    }
  });

  test('a deletion leaves nothing that identifies the user', async () => {
    const { store } = opened();
    const username = `gone-${randomAlnum(12)}`;
    const more = { email: `${username}@example.org`, passwordHash: 'hash', remark: 'a note', affCode: randomAlnum(8) };
    const user = await addUser(store, { balance: 700, username, ...more });
    await store.users.setAccessToken(user.id, { hash: randomAlnum(64), prefix: 'tgp_abc', createdAt: 500 });
    expect(await store.users.softDelete(user.id, 2, 900)).toBe(false);
    expect(await store.users.softDelete(user.id, 1, 900)).toBe(true);
    expect(await store.users.softDelete(user.id, 2, 901)).toBe(false);
    expect(await store.users.adminById(user.id)).toEqual({
      ...user,
      username: `deleted:${user.id}`,
      displayName: '',
      email: null,
      passwordHash: null,
      language: '',
      status: 2,
      authVersion: 2,
      remark: '',
      inviterId: 0,
      hasAccessToken: false,
      deletedAt: 900,
    });
    expect(await store.users.byId(user.id)).toBeUndefined();
    expect(await store.users.update(user.id, { username })).toBeUndefined();
    expect(await store.users.administer(user.id, { status: 1 }, 2)).toBe(false);
    expect(await store.users.ensureAffCode(user.id, randomAlnum(8))).toBeUndefined();
    expect(await store.users.byAffCode(more.affCode)).toBeUndefined();
  });

  /** As the rooms do it: the user first, then the rows that belong to the user. */
  const deleteUser = (store: Store, userId: number) =>
    store.transaction(async (tx) => {
      const user = await tx.users.byId(userId);
      expect(await tx.users.softDelete(userId, user?.authVersion ?? 0, 900)).toBe(true);
      return {
        identities: await tx.identities.releaseAll(userId),
        keys: await tx.apiKeys.deleteAll(userId),
        passkeys: await tx.passkeys.deleteAll(userId),
        factors: await tx.twoFactor.delete(userId),
        flows: await tx.flows.deleteOfUser(userId),
        sessions: (await tx.sessions.revokeAll({ userId, exceptSid: null, reason: 'user_deleted', now: 900 })).length,
      };
    });

  test('name, address, identities and affiliate code of a deleted user are free for others; their tasks settle', async () => {
    const { store } = opened();
    const username = `again-${randomAlnum(12)}`;
    const email = `${username}@example.org`.toLowerCase();
    const register = async () => {
      const user = await addUser(store, { balance: 1000, username, email, affCode: username });
      for (const [provider, subject] of [
        ['email', email],
        ['github', username],
      ] as const) {
        const identity = { provider, subject, userId: user.id, createdAt: 1 };
        expect(await store.identities.claim(identity)).toBe('ok');
      }
      return user;
    };
    const user = await register();
    const stranger = await addUser(store);
    const strangersKey = await addKey(store, stranger.id);
    const key = await addKey(store, user.id, { unlimitedQuota: false, quota: 500 });
    await store.sessions.insert(newSession(user.id));
    await store.twoFactor.begin({ userId: user.id, secretSealed: 's', createdAt: 1 });
    const entry = {
      walletId: user.walletId,
      userId: user.id,
      apiKeyId: key.id,
      taskId: newTaskId(Date.now()),
      attempt: 0,
      at: 1,
    };
    expect(await store.ledger.reserve({ ...entry, amount: 300 })).toBe('ok');

    expect(await deleteUser(store, user.id)).toEqual({
      identities: 2,
      keys: 1,
      passkeys: 0,
      factors: true,
      flows: 0,
      sessions: 1,
    });
    const next = await register();
    expect(next.id).not.toBe(user.id);
    expect(await store.users.byNameOrAddress(email)).toMatchObject({ id: next.id });
    expect(await store.apiKeys.byHash(key.keyHash, 1)).toBeUndefined();
    expect(await store.apiKeys.byHash(strangersKey.keyHash, 1)).toMatchObject({ key: { id: strangersKey.id } });
    expect(await store.apiKeys.deleteAll(user.id)).toBe(0);
    expect(await store.ledger.reserve({ ...entry, apiKeyId: null, attempt: 1, amount: 1 })).toBe('wallet_insufficient');
    expect(await store.ledger.post({ ...entry, kind: 'refund', amount: 300 })).toBe(true);
    expect(await store.users.adminById(user.id)).toMatchObject({ quota: 1000 });
    expect((await store.ledger.imbalances(100)).wallets.filter(({ userId }) => userId === user.id)).toEqual([]);
  });

  test('a name that looks like a deleted user’s blocks no deletion', async () => {
    const { store } = opened();
    const user = await addUser(store);
    await addUser(store, { username: `deleted-${user.id}` });
    expect(await store.users.softDelete(user.id, 1, 900)).toBe(true);
  });
});

describeEachStore(
  'search for users',
  (opened) => {
    async function fill(store: Store): Promise<void> {
      const people = [
        { username: 'anna', displayName: 'Anna Größe', email: 'a@one.example', role: 100, group: 'vip', createdAt: 5 },
        { username: 'Bert', displayName: '100%', email: 'b@two.example', role: 10, status: 2, createdAt: 4 },
        { username: 'carl_x', displayName: 'carlos', email: null, createdAt: 3 },
        { username: 'dora', displayName: 'gone', email: 'd@one.example', group: 'vip', createdAt: 2 },
        { username: 'emil', displayName: '3', email: 'EMIL@TWO.EXAMPLE', createdAt: 1 },
      ] as const;
      for (const [i, person] of people.entries()) await addUser(store, { balance: (i * 7) % 5, ...person });
      await store.users.setAccessToken(1, { hash: randomAlnum(64), prefix: 'tgp_', createdAt: 1 });
      await store.users.update(1, { remark: 'boss' });
      await store.users.recordSignIn(3, 99);
      await store.users.softDelete(4, 1, 77);
    }

    test('finds by keyword, group, role and status, deleted ones too, in any order, by pages', async () => {
      const { store } = opened();
      await fill(store);
      const ids = async (filter: UserFilter, pages = page) =>
        (await store.users.search(filter, pages)).items.map(({ id }) => id);
      const table: [UserFilter, number[]][] = [
        [{}, [1, 2, 3, 4, 5]],
        [{ keyword: 'ANN' }, [1]],
        [{ keyword: 'bErT' }, [2]],
        [{ keyword: 'Größe' }, [1]],
        [{ keyword: 'two.example' }, [2, 5]],
        [{ keyword: '%' }, [2]],
        [{ keyword: '_' }, [3]],
        [{ keyword: '!' }, []],
        [{ keyword: "' or 1=1 --" }, []],
        [{ keyword: 'an\0na' }, []],
        [{ keyword: '3' }, [3, 5]],
        [{ keyword: '99999999999999999999' }, []],
        [{ keyword: 'dora' }, []],
        [{ keyword: 'deleted:4' }, [4]],
        [{ keyword: '' }, [1, 2, 3, 4, 5]],
        [{ group: 'vip' }, [1, 4]],
        [{ group: 'VIP' }, []],
        [{ role: 100 }, [1]],
        [{ role: 1 }, [3, 4, 5]],
        [{ status: 1 }, [1, 3, 5]],
        [{ status: 2 }, [2]],
        [{ status: -1 }, [4]],
        [{ group: 'vip', status: 1, keyword: 'a@one' }, [1]],
        [{ order: 'desc' }, [5, 4, 3, 2, 1]],
        [{ sortBy: 'username' }, [1, 2, 3, 4, 5]],
        [{ sortBy: 'username', order: 'desc' }, [5, 4, 3, 2, 1]],
        [{ sortBy: 'quota' }, [1, 4, 2, 5, 3]],
        [{ sortBy: 'group', order: 'desc' }, [4, 1, 5, 3, 2]],
        [{ sortBy: 'createdAt' }, [5, 4, 3, 2, 1]],
        [{ sortBy: 'lastLoginAt', order: 'desc' }, [3, 5, 4, 2, 1]],
      ];
      for (const [filter, expected] of table) {
        const found = await ids(filter);
        expect({ filter, found }).toEqual({ filter, found: expected });
        expect((await store.users.search(filter, page)).total).toBe(expected.length);
      }
      expect(await ids({ sortBy: 'createdAt' }, { page: 2, pageSize: 2 })).toEqual([3, 2]);
      expect((await store.users.search({}, { page: 9, pageSize: 2 })).total).toBe(5);

      const [anna, bert] = (await store.users.search({}, page)).items;
      expect(anna).toMatchObject({ remark: 'boss', hasAccessToken: true, inviterId: 0, deletedAt: 0, quota: 0 });
      expect(anna).toEqual((await store.users.adminById(1)) as NonNullable<typeof anna>);
      expect(bert).toMatchObject({ remark: '', hasAccessToken: false, quota: 2 });
      expect(await store.users.adminById(999)).toBeUndefined();
    });

    test('an export has each account once, while others join and pay', async () => {
      const { store } = opened();
      const users: UserRecord[] = [];
      for (let balance = 0; balance < 203; balance += 1) users.push(await addUser(store, { balance }));
      const walletId = users[0]?.walletId ?? 0;
      const list = (filter: UserFilter, part: Page) => store.users.search(filter, part);
      const auth = { administration: { list } } as unknown as Auth;
      for (const filter of [{ sortBy: 'quota', order: 'desc' }, { order: 'desc' }, {}] as const) {
        const { batches } = userRows(auth, { filter, cursor: undefined });
        const seen: number[] = [];
        for (let read = await batches.next(); !read.done; read = await batches.next()) {
          seen.push(...read.value.rows.map(({ id }) => id));
          await addUser(store);
          const key = `${JSON.stringify(filter)} ${seen.length}`;
          await store.ledger.grant({ walletId, kind: 'grant', key, amount: 1000, at: 1 });
        }
        const found = [filter, new Set(seen).size, users.filter(({ id }) => !seen.includes(id))];
        expect(found).toEqual([filter, seen.length, []]);
      }
    });
  },
  { fresh: 'test' },
);
