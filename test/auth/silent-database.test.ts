import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { type Clock, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { type HoldingProxy, startHoldingProxy } from '../support/holding-proxy.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { withOwnTimeouts } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { ORIGIN, openAuth, signIn } from './harness.ts';
import { refusal } from './refusal.ts';

/** Sleeps fifty times shorter; its elapsed time jumps ahead only while `age` runs. */
let agedMs = 0;
const fastClock: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() + agedMs,
  sleep: (ms, signal) => systemClock.sleep(ms / 50, signal),
};
/** Runs `work`; until it ends, the clock jumps ahead one second every 20 ms. */
async function age(work: () => Promise<unknown>): Promise<void> {
  const timer = setInterval(() => {
    agedMs += 1000;
  }, 20);
  await work().finally(() => clearInterval(timer));
}

let proxy: HoldingProxy;
let store: Store;
let direct: Store;
let throughProxy: string;
let directUrl: string;
const open = (databaseUrl: string, clock: Clock) =>
  openStore({ databaseUrl, dataDir: '', synchronous: 'FULL', clock, logger: silentLogger });
beforeAll(async () => {
  const url = new URL(withOwnTimeouts(await migratedDatabaseUrl()));
  proxy = await startHoldingProxy({ host: url.hostname, port: Number(url.port || 5432) });
  directUrl = url.href;
  direct = await open(directUrl, systemClock);
  url.port = new URL(proxy.url).port;
  throughProxy = url.href;
  store = await open(throughProxy, fastClock);
});
afterAll(async () => {
  await store.close();
  await direct.close();
  await proxy.stop();
});

test('a database that accepts requests and never answers: sign-ins and transactions fail as unavailable and recover', async () => {
  const auth = openAuth(store);
  const user = await addUser(store);
  const { refreshToken } = await signIn(auth, user);
  const logIn = () => auth.passwords.signIn({ username: user.username, password: PASSWORD, origin: ORIGIN });

  proxy.mode = 'hold_requests';
  await age(() =>
    Promise.all([
      // As many as the semaphore runs at once: if they hung, all later ones would wait.
      ...Array.from({ length: 4 }, () => refusal(logIn(), 'auth.unavailable')),
      refusal(auth.sessions.refresh({ refreshToken, expectedSid: undefined, origin: ORIGIN }), 'auth.unavailable'),
      expect(store.transaction((tx) => tx.options.put('key', 'value'))).rejects.toMatchObject({ kind: 'unavailable' }),
    ]),
  );

  // The held bytes stay lost, as with a peer that vanished silently.
  proxy.mode = 'pass';
  await until('sign-ins are answered', async () => (await logIn().catch(() => undefined))?.kind === 'session');
  expect((await auth.sessions.refresh({ refreshToken, expectedSid: undefined, origin: ORIGIN })).kind).toBe('session');
});

test('a node that goes silent within a transaction does not lock its user out of other nodes', async () => {
  const user = await addUser(direct);
  const node = await open(throughProxy, systemClock);
  const held = proxy.held();
  const frozen = node
    .transaction(async (tx) => {
      await tx.users.recordSignIn(user.id, 1);
      proxy.mode = 'hold_requests';
      throw new Error('its rollback does not arrive');
    })
    .catch(() => undefined);
  await until(() => proxy.held() > held);
  // The server ends the silent transaction; a statement waits for its rows a little longer than
  // that.
  expect((await signIn(openAuth(direct), user)).kind).toBe('session');
  await node.close();
  await frozen;
  proxy.mode = 'pass';
});

test('rows locked for long: a sign-in is unavailable, not an error, and works once they are free', async () => {
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
  const look = new SQL({ url: directUrl, max: 1 });
  const isHeldUp = async () => {
    const [row] = await look`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    return row.count > 0;
  };
  await until(isHeldUp);
  // It gives up ten seconds after its transaction began, which has passed; the answer to its
  // statement comes when the rows are free.
  await systemClock.sleep(10_000);
  free.resolve();
  await holding;
  await signingIn;
  expect((await signIn(openAuth(direct), user)).kind).toBe('session');
  await Promise.all([admin.close(), look.close()]);
});
