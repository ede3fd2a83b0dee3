import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { type Clock, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { type HoldingProxy, startHoldingProxy } from '../support/holding-proxy.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { addUser, ORIGIN, openAuth, PASSWORD, signIn } from './harness.ts';
import { refusal } from './refusal.ts';

/** Time runs fifty times as fast. */
const hasty: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() * 50,
  sleep: (ms, signal) => systemClock.sleep(ms / 50, signal),
};

let proxy: HoldingProxy;
let store: Store;
let direct: Store;
let throughProxy: string;
let directUrl: string;
const open = (databaseUrl: string, clock: Clock) =>
  openStore({ databaseUrl, dataDir: '', synchronous: 'FULL', clock, logger: silentLogger });
beforeAll(async () => {
  const url = new URL(await testDatabaseUrl());
  proxy = await startHoldingProxy({ host: url.hostname, port: Number(url.port || 5432) });
  directUrl = url.href;
  direct = await open(directUrl, systemClock);
  url.port = new URL(proxy.url).port;
  throughProxy = url.href;
  store = await open(throughProxy, hasty);
});
afterAll(async () => {
  await store.close();
  await direct.close();
  await proxy.stop();
});

test('a database that takes requests and never answers: sign-ins and transactions fail as unavailable, and go on once it answers', async () => {
  const auth = openAuth(store);
  const user = await addUser(store);
  const { refreshToken } = await signIn(auth, user);
  const logIn = () => auth.passwords.logIn({ username: user.username, password: PASSWORD, origin: ORIGIN });

  proxy.mode = 'hold_requests';
  await Promise.all([
    // As many as are let through to be judged at once: hung, they would hold up all later ones.
    ...Array.from({ length: 4 }, () => refusal(logIn(), 'auth.unavailable')),
    refusal(auth.sessions.refresh({ refreshToken, expectedSid: undefined, origin: ORIGIN }), 'auth.unavailable'),
    expect(store.transaction((tx) => tx.options.put('key', 'value'))).rejects.toMatchObject({ kind: 'unavailable' }),
  ]);

  // What was held stays lost, as with a peer that is gone without a word.
  proxy.mode = 'pass';
  expect((await logIn()).kind).toBe('session');
  expect((await auth.sessions.refresh({ refreshToken, expectedSid: undefined, origin: ORIGIN })).kind).toBe('session');
}, 60_000);

test('a node that falls silent in the middle of a transaction does not keep its user from the other nodes', async () => {
  const user = await addUser(direct);
  const node = await open(throughProxy, systemClock);
  const held = proxy.held();
  const frozen = node
    .transaction(async (tx) => {
      await tx.users.touchLogin(user.id, 1);
      proxy.mode = 'hold_requests';
      throw new Error('its rollback does not arrive');
    })
    .catch(() => undefined);
  await until(() => proxy.held() > held);
  // The server ends the silent transaction; a statement waits for its rows a little longer than that.
  expect((await signIn(openAuth(direct), user)).kind).toBe('session');
  await node.close();
  await frozen;
  proxy.mode = 'pass';
}, 60_000);

test('rows that somebody holds for long: a sign-in is unavailable, not a fault, and goes on when they are free', async () => {
  const user = await addUser(direct);
  const admin = new SQL({ url: directUrl, max: 1 });
  const held = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const holding = admin.begin(async (tx) => {
    await tx`select id from users where id = ${user.id} for update`;
    held.resolve();
    await free.promise;
  });
  await held.promise;
  const signingIn = refusal(signIn(openAuth(direct), user), 'auth.unavailable');
  await systemClock.sleep(11_000);
  free.resolve();
  await holding;
  await signingIn;
  expect((await signIn(openAuth(direct), user)).kind).toBe('session');
  await admin.close();
}, 60_000);
