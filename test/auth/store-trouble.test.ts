import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newUuid, randomAlnum } from '../../src/kernel/index.ts';
import { storeErrors } from '../../src/store/drivers/errors.ts';
import { createNoSessionCache } from '../../src/store/index.ts';
import type { Repositories, Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { startRelay } from '../support/relay.ts';
import { until } from '../support/until.ts';
import { bearer, ORIGIN, openAuth, openTestStore, overriding, refreshWith, signIn } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock } from './test-clock.ts';
import { openTwoNodes, type TwoNodes } from './two-nodes.ts';

const away = () => Promise.reject(storeErrors.unavailable());

/** The store with some methods that fail as if the database were down, in transactions too. */
function withTrouble(store: Store, trouble: Trouble): Store {
  const broken = <T extends Repositories>(repositories: T): T =>
    overriding<T>(repositories, {
      ...(trouble.users && { users: overriding(repositories.users, trouble.users) }),
      ...(trouble.sessions && { sessions: overriding(repositories.sessions, trouble.sessions) }),
      ...(trouble.apiKeys && { apiKeys: overriding(repositories.apiKeys, trouble.apiKeys) }),
      ...(trouble.options && { options: overriding(repositories.options, trouble.options) }),
    } as Partial<T>);
  return overriding(broken(store), { transaction: (work) => store.transaction((tx) => work(broken(tx))) });
}

type Trouble = {
  [R in 'users' | 'sessions' | 'apiKeys' | 'options']?: Partial<Record<keyof Repositories[R], typeof away>>;
};

describe('database errors answer 503, never a refusal', () => {
  let store: Store;
  let stop: () => Promise<void>;
  let user: UserRecord;

  beforeAll(async () => {
    ({ store, stop } = await openTestStore('sqlite'));
    user = await addUser(store);
  });
  afterAll(() => stop());

  const unavailable = async (work: Promise<unknown>) => {
    const error = await refusal(work, 'auth.unavailable');
    expect(error.kind).toBe('unavailable');
    expect(error.retryAfterSeconds).toBeGreaterThan(0);
  };

  for (const trouble of [
    { sessions: { withUser: away } },
    { sessions: { rotate: away } },
    { users: { signInMethods: away } },
  ] satisfies Trouble[]) {
    test(`refresh, ${readName(trouble)}: the same token works when the database is back`, async () => {
      const auth = openAuth(store);
      const { refreshToken } = await signIn(auth, user);
      await unavailable(refreshWith(openAuth(withTrouble(store, trouble)), refreshToken));
      await refreshWith(auth, refreshToken);
    });
  }

  test('refresh: a reuse that cannot be stored is not answered as one', async () => {
    const auth = openAuth(store);
    const { refreshToken, bundle } = await signIn(auth, user);
    await store.users.setPassword(user.id, user.passwordHash ?? '', user.authVersion);
    user = (await store.users.byId(user.id)) ?? user;
    await unavailable(refreshWith(openAuth(withTrouble(store, { sessions: { revoke: away } })), refreshToken));
    expect((await store.sessions.bySid(bundle.session.sid))?.status).toBe('active');
  });

  for (const trouble of [{ sessions: { bySid: away } }, { sessions: { revoke: away } }] satisfies Trouble[]) {
    test(`logout, ${readName(trouble)}`, async () => {
      const { refreshToken } = await signIn(openAuth(store), user);
      const node = openAuth(withTrouble(store, trouble));
      await unavailable(
        node.sessions.signOut({ refreshToken, authorization: undefined, expectedSid: undefined, origin: ORIGIN }),
      );
    });
  }

  for (const trouble of [
    { users: { byNameOrAddress: away } },
    { users: { byId: away } },
    { users: { recordSignIn: away } },
    { sessions: { countActive: away } },
    { sessions: { countIssued: away } },
    { sessions: { insert: away } },
  ] satisfies Trouble[]) {
    test(`login, ${readName(trouble)}: no session is issued, and it does not count as a guess`, async () => {
      const before = await store.sessions.countIssued(user.id, 0);
      const node = openAuth(withTrouble(store, trouble));
      for (let i = 0; i < 6; i += 1) await unavailable(signIn(node, user));
      expect(await store.sessions.countIssued(user.id, 0)).toBe(before);
    });
  }

  test('access token', async () => {
    const authorization = bearer(await signIn(openAuth(store), user));
    const node = openAuth(withTrouble(store, { sessions: { withUser: away } }));
    await unavailable(node.authenticatePanel(authorization));
  });

  for (const trouble of [{ sessions: { bySid: away } }, { users: { byId: away } }] satisfies Trouble[]) {
    test(`access token beside a cache server, ${readName(trouble)}`, async () => {
      const authorization = bearer(await signIn(openAuth(store), user));
      const sessionCache = { ...createNoSessionCache(), enabled: true };
      await unavailable(openAuth(withTrouble(store, trouble), { sessionCache }).authenticatePanel(authorization));
    });
  }

  test('API key', async () => {
    const node = openAuth(withTrouble(store, { apiKeys: { byHash: away } }));
    await unavailable(node.authenticateApiKey(`sk-${randomAlnum(48)}`));
  });

  test('password change: it is rolled back', async () => {
    const auth = openAuth(store);
    const signedIn = await signIn(auth, user);
    const principal = await auth.authenticatePanel(bearer(signedIn));
    const change = { currentPassword: PASSWORD, newPassword: 'another password', origin: ORIGIN };
    for (const method of ['advance', 'revokeAll'] as const) {
      await unavailable(
        openAuth(withTrouble(store, { sessions: { [method]: away } })).passwords.change(principal, change),
      );
    }
    await auth.authenticatePanel(bearer(signedIn));
    expect((await signIn(auth, user)).kind).toBe('session');
  });

  test('set-up', async () => {
    const node = openAuth(withTrouble(store, { users: { countByRole: away } }));
    await unavailable(node.setup.needed());
    await unavailable(node.setup.openLink());
    await unavailable(node.setup.complete({ token: newUuid(), username: 'owner', password: PASSWORD }));
    const late = openAuth(withTrouble(store, { options: { putIfAbsent: away } }));
    const token = (await late.setup.openLink()) ?? '';
    await unavailable(late.setup.complete({ token, username: 'owner', password: PASSWORD }));
    expect(await openAuth(store).setup.needed()).toBe(true);
  });
});

const readName = (trouble: Trouble): string =>
  Object.entries(trouble)
    .map(([room, methods]) => `${room}.${Object.keys(methods).join()}`)
    .join();

describe('database errors with a working cache', () => {
  let nodes: TwoNodes;
  let user: UserRecord;
  beforeAll(async () => {
    nodes = await openTwoNodes({ dialect: 'sqlite', topology: 'shared', ttlSeconds: 60, clock: createTestClock() });
    await Promise.all([nodes.a.believes(), nodes.b.believes()]);
    user = await addUser(nodes.a.store);
  });
  afterAll(() => nodes.stop());

  const troubled = (trouble: Trouble) => openAuth(withTrouble(nodes.a.store, trouble), { sessionCache: nodes.a.cache });
  const signInSeen = async () => {
    const signedIn = await signIn(nodes.a.auth, user);
    await nodes.b.auth.authenticatePanel(bearer(signedIn));
    expect((await nodes.b.cache.get(signedIn.bundle.session.sid))?.state).toBe('active');
    return signedIn;
  };

  test('an end that cannot be stored ends nothing: nodes read the database, and the session lives', async () => {
    const [own, other] = [await signInSeen(), await signInSeen()];
    const node = troubled({ sessions: { revoke: away, revokeAll: away } });
    const principal = await node.authenticatePanel(bearer(own));
    const { sid } = other.bundle.session;
    const { refreshToken } = other;
    const change = { currentPassword: PASSWORD, newPassword: 'another fine password', origin: ORIGIN };
    for (const work of [
      () => node.sessions.signOut({ refreshToken, authorization: undefined, expectedSid: undefined, origin: ORIGIN }),
      () => node.sessions.revoke(principal, sid),
      () => node.sessions.revokeOthers(principal),
      () => node.passwords.change(principal, change),
    ]) {
      await refusal(work(), 'auth.unavailable');
      expect((await nodes.b.cache.get(sid))?.state).toBe('revoking');
      await nodes.b.auth.authenticatePanel(bearer(other));
      await nodes.b.auth.authenticatePanel(bearer(own));
    }
    await refreshWith(nodes.b.auth, refreshToken);
  });

  test('a cached session does not replace reading its user', async () => {
    const signedIn = await signInSeen();
    const node = troubled({ users: { byId: away } });
    await refusal(node.authenticatePanel(bearer(signedIn)), 'auth.unavailable');
    await nodes.a.auth.authenticatePanel(bearer(signedIn));
  });

  test('a cached session is checked without its row', async () => {
    const signedIn = await signInSeen();
    await troubled({ sessions: { bySid: away } }).authenticatePanel(bearer(signedIn));
  });
});

test('a PostgreSQL server that goes away: refresh is 503, and the same token works when it is back', async () => {
  const relay = await startRelay(await migratedDatabaseUrl());
  const { store, stop } = await openTestStore('postgres', relay.url);
  const auth = openAuth(store);
  const user = await addUser(store);
  const signedIn = await signIn(auth, user);

  await relay.cut();
  for (const work of [
    () => refreshWith(auth, signedIn.refreshToken),
    () => auth.authenticatePanel(bearer(signedIn)),
    () => signIn(auth, user),
  ]) {
    const error = await refusal(work(), 'auth.unavailable');
    expect(error.retryAfterSeconds).toBeGreaterThan(0);
    expect(error.message).not.toContain('postgres');
  }

  await relay.mend();
  await until(() =>
    refreshWith(auth, signedIn.refreshToken).then(
      () => true,
      () => false,
    ),
  );
  await stop();
  await relay.stop();
});
