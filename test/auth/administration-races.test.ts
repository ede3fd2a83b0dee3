/** Changes of operator or target during an administrative change. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { AppError } from '../../src/kernel/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { DATABASES } from '../support/databases.ts';
import { bearer, openAuth, overriding, signIn } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock } from './test-clock.ts';
import { openTwoNodes, type TwoNodes } from './two-nodes.ts';

type Caller = Parameters<Auth['administration']['delete']>[0];
const readCode = (error: unknown) => (error instanceof AppError ? error.code : String(error));
const NEW_PASSWORD = 'another long password';

const WRITES: [name: string, write: (auth: Auth, caller: Caller, id: number) => Promise<unknown>][] = [
  ['edit', (auth, caller, id) => auth.administration.edit(caller, id, { remark: 'x' })],
  ['new password', (auth, caller, id) => auth.administration.edit(caller, id, { password: NEW_PASSWORD })],
  ['disabling', (auth, caller, id) => auth.administration.changeStatusOrRole(caller, id, 'disable')],
  ['quota', (auth, caller, id) => auth.administration.changeQuota(caller, id, { mode: 'add', value: 5 })],
  ['reset', (auth, caller, id) => auth.administration.reset.passkeys(caller, id)],
  ['unbinding', (auth, caller, id) => auth.administration.reset.binding(caller, id, 'github')],
  ['deletion', (auth, caller, id) => auth.administration.delete(caller, id)],
];

for (const dialect of DATABASES) {
  describe(`administration while things change, on ${dialect}`, () => {
    let nodes: TwoNodes;
    beforeAll(async () => {
      nodes = await openTwoNodes({ dialect, topology: 'none', ttlSeconds: 60, clock: createTestClock() });
    });
    afterAll(() => nodes.stop());

    const readSession = async (auth: Auth, user: UserRecord): Promise<Caller> =>
      auth.authenticatePanel(bearer(await signIn(auth, user)));
    const equip = async (user: UserRecord): Promise<UserRecord> => {
      await nodes.a.store.passkeys.insert({
        ...{ userId: user.id, credentialId: `c-${user.id}`, publicKey: 'key', rpId: 'localhost', name: 'phone' },
        ...{ counter: 0, transports: [], backedUp: false, createdAt: 1 },
      });
      await nodes.a.store.identities.claim({
        provider: 'github',
        subject: `g-${user.id}`,
        userId: user.id,
        createdAt: 1,
      });
      return user;
    };
    /**
     * A node on which another node's change `race` runs after the first check of the rank and
     * before the transaction.
     */
    function openSlow(race: (store: Store) => Promise<unknown>): Auth {
      let happened = false;
      const { store } = nodes.a;
      const transaction: Store['transaction'] = async (work) => {
        if (!happened) {
          happened = true;
          await race(nodes.b.store);
        }
        return store.transaction(work);
      };
      return openAuth(overriding(store, { transaction }));
    }
    const readState = async (id: number) => ({
      user: await nodes.a.store.users.adminById(id),
      passkeys: (await nodes.a.store.passkeys.list(id)).length,
      identities: (await nodes.a.store.identities.list(id)).length,
    });

    test.each(WRITES)('stale rank: no %s of an administrator who was demoted in the meantime', async (_, write) => {
      const [admin, target] = [await addUser(nodes.a.store, { role: 10 }), await equip(await addUser(nodes.a.store))];
      const caller = await readSession(nodes.a.auth, admin);
      const before = await readState(target.id);
      const slow = openSlow((store) => store.users.administer(admin.id, { role: 1 }, admin.authVersion));
      await refusal(write(slow, caller, target.id), 'auth.changed_meanwhile');
      expect(await readState(target.id)).toEqual(before);
    });

    test.each(WRITES)('stale rank: no %s against a user who was promoted in the meantime', async (_, write) => {
      const [admin, target] = [await addUser(nodes.a.store, { role: 10 }), await equip(await addUser(nodes.a.store))];
      const caller = await readSession(nodes.a.auth, admin);
      const slow = openSlow((store) => store.users.administer(target.id, { role: 10 }, target.authVersion));
      await refusal(write(slow, caller, target.id), 'auth.insufficient_privilege');
      expect(await readState(target.id)).toMatchObject({
        user: { role: 10, status: 1, quota: 0, remark: '', authVersion: target.authVersion + 1, deletedAt: 0 },
        passkeys: 1,
        identities: 1,
      });
    });

    test('stale rank: an administrator who was disabled, demoted or deleted in the meantime creates no account', async () => {
      const ends: ((store: Store, admin: UserRecord) => Promise<unknown>)[] = [
        (store, { id, authVersion }) => store.users.administer(id, { status: 2 }, authVersion),
        (store, { id, authVersion }) => store.users.administer(id, { role: 1 }, authVersion),
        (store, { id, authVersion }) => store.users.softDelete(id, authVersion, 5),
      ];
      for (const [i, end] of ends.entries()) {
        const admin = await addUser(nodes.a.store, { role: 10 });
        const caller = await readSession(nodes.a.auth, admin);
        const slow = openSlow((store) => end(store, admin));
        const account = { username: `late-${dialect}-${i}`, password: NEW_PASSWORD };
        await refusal(slow.administration.create(caller, account), 'auth.changed_meanwhile');
        expect(await nodes.a.store.users.byNameOrAddress(account.username)).toBeUndefined();
      }
    });

    test('deletion on one node and changes on the other: the later one finds no user', async () => {
      const roots = [await addUser(nodes.a.store, { role: 100 }), await addUser(nodes.a.store, { role: 100 })] as const;
      const callers = [await readSession(nodes.a.auth, roots[0]), await readSession(nodes.b.auth, roots[1])] as const;
      for (let round = 0; round < 10; round += 1) {
        const { id } = await addUser(nodes.a.store);
        const outcomes = await Promise.allSettled([
          nodes.a.auth.administration.delete(callers[0], id),
          nodes.b.auth.administration.changeStatusOrRole(callers[1], id, 'disable'),
          nodes.b.auth.administration.changeQuota(callers[1], id, { mode: 'override', value: 7 }),
          nodes.b.auth.administration.edit(callers[1], id, { email: `late-${id}@example.org` }),
        ]);
        expect(outcomes[0].status).toBe('fulfilled');
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected') expect(readCode(outcome.reason)).toBe('auth.user_not_found');
        }
        expect(await nodes.a.store.users.adminById(id)).toMatchObject({ username: `deleted:${id}`, email: null });
        expect(await nodes.a.store.identities.list(id)).toEqual([]);
      }
      expect((await nodes.a.store.ledger.imbalances(10)).wallets).toEqual([]);
    });

    test('two administrators who change each other at once do not deadlock', async () => {
      const roots = [await addUser(nodes.a.store, { role: 100 }), await addUser(nodes.a.store, { role: 100 })] as const;
      const callers = [await readSession(nodes.a.auth, roots[0]), await readSession(nodes.b.auth, roots[1])] as const;
      let [asked, begun] = [0, 0];
      const [a, b] = [nodes.a, nodes.b].map(({ store }) => {
        const transaction: Store['transaction'] = (work) => {
          asked += 1;
          return store.transaction((tx) => {
            begun += 1;
            return work(tx);
          });
        };
        return openAuth(overriding(store, { transaction }));
      }) as [Auth, Auth];
      await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          i % 2
            ? a.administration.edit(callers[0], roots[1].id, { remark: `a ${i}` })
            : b.administration.edit(callers[1], roots[0].id, { remark: `b ${i}` }),
        ),
      );
      // PostgreSQL aborts one transaction of a deadlock, and the store begins it again. Equal
      // counts mean that there was none.
      expect([asked, begun]).toEqual([40, 40]);
    });

    test('an administrator who is demoted during a write can write nothing afterwards', async () => {
      const root = await readSession(nodes.a.auth, await addUser(nodes.a.store, { role: 100 }));
      for (let round = 0; round < 5; round += 1) {
        const admin = await addUser(nodes.a.store, { role: 10 });
        const caller = await readSession(nodes.b.auth, admin);
        const target = await addUser(nodes.a.store);
        let demoted = false;
        const demotion = nodes.a.auth.administration.changeStatusOrRole(root, admin.id, 'demote').then(() => {
          demoted = true;
        });
        const writes = Array.from({ length: 20 }, async (_, i) => {
          await Bun.sleep(i);
          const begunAfter = demoted;
          const change = { mode: 'add', value: 1 } as const;
          const done = await nodes.b.auth.administration.changeQuota(caller, target.id, change).then(
            () => true,
            (error) => {
              expect(readCode(error)).toBe('auth.changed_meanwhile');
              return false;
            },
          );
          return { begunAfter, done };
        });
        const outcomes = await Promise.all(writes);
        await demotion;
        expect(outcomes.filter(({ begunAfter, done }) => begunAfter && done)).toEqual([]);
        const paid = (await nodes.a.store.users.byId(target.id))?.quota;
        expect(paid).toBe(outcomes.filter(({ done }) => done).length);
      }
    });

    test('a change of the balance tells the balance that it changed, whatever is spent at that moment', async () => {
      const { store } = nodes.a;
      const root = await readSession(nodes.a.auth, await addUser(store, { role: 100 }));
      const user = await addUser(store, { balance: 10_000 });
      const { id: userId, walletId } = user;
      const line = { walletId, userId, apiKeyId: null, attempt: 0, amount: 1, at: 2 };
      const reservations = Array.from({ length: 60 }, (_, i) =>
        nodes.b.store.transaction((tx) => tx.ledger.reserve({ ...line, taskId: `spent-${userId}-${i}` })),
      );
      const changes = await Promise.all(
        Array.from({ length: 20 }, () =>
          nodes.a.auth.administration.changeQuota(root, userId, { mode: 'add', value: 7 }),
        ),
      );
      await Promise.all(reservations);
      expect(changes.map(({ before, after }) => after - before)).toEqual(changes.map(() => 7));
    });

    test('a user who is deleted while using their keys is deleted, and the ledger balances', async () => {
      const { store } = nodes.a;
      const root = await readSession(nodes.a.auth, await addUser(store, { role: 100 }));
      for (let round = 0; round < 3; round += 1) {
        const user = await addUser(store);
        await nodes.a.auth.administration.changeQuota(root, user.id, { mode: 'add', value: 10_000 });
        const caller = await readSession(nodes.b.auth, user);
        const { id: apiKeyId } = await nodes.b.auth.apiKeys.create(caller, { name: 'key', quota: 10_000 });
        const reserve = (i: number) =>
          nodes.b.store.transaction((tx) =>
            tx.ledger.reserve({
              walletId: user.walletId,
              userId: user.id,
              apiKeyId,
              taskId: `task-${user.id}-${i}`,
              attempt: 0,
              amount: 10,
              at: 2,
            }),
          );
        const reservations = Array.from({ length: 30 }, (_, i) => reserve(i));
        const deletion = nodes.a.auth.administration.delete(root, user.id);
        const reserved = (await Promise.all(reservations)).filter((verdict) => verdict === 'ok').length;
        await deletion;
        const left = await store.users.adminById(user.id);
        expect(left).toMatchObject({ username: `deleted:${user.id}`, quota: 10_000 - 10 * reserved });
        expect(await reserve(99)).not.toBe('ok');
      }
      expect((await store.ledger.imbalances(10)).wallets).toEqual([]);
    });
  });
}

describeEachStore('held users', (opened) => {
  test('are returned by id, without deleted and unknown ones', async () => {
    const { store } = opened();
    const [first, second, gone] = [await addUser(store), await addUser(store), await addUser(store)];
    await store.users.softDelete(gone.id, 1, 5);
    const held = await store.transaction((tx) => tx.users.lock([second.id, 999_999, gone.id, first.id, second.id]));
    expect(held).toEqual([first, second]);
    expect(await store.transaction((tx) => tx.users.lock([]))).toEqual([]);
  });

  test('stay locked until the transaction ends', async () => {
    const { store, openAnother } = opened();
    const another = await openAnother();
    const user = await addUser(store);
    const order: string[] = [];
    let change: Promise<unknown> = Promise.resolve();
    await store.transaction(async (tx) => {
      await tx.users.lock([user.id]);
      change = another.users.administer(user.id, { role: 10 }, 1).then(() => order.push('changed'));
      for (let i = 0; i < 5; i += 1) expect((await tx.users.byId(user.id))?.role).toBe(1);
      order.push('held');
    });
    await change;
    expect(order).toEqual(['held', 'changed']);
  });
});
