import { afterEach, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { orUnavailable } from '../../src/auth/errors.ts';
import { AppError, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { ChangeTopic, Repositories, Store, TaskRecord } from '../../src/store/ports/index.ts';
import { withPostgresSnapshot } from '../../src/store/snapshot/postgres-snapshot.ts';
import { addRunningTask, newSession, readLease } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { testInFullRun } from '../support/full-run.ts';
import { startHoldingProxy } from '../support/holding-proxy.ts';
import { testDatabaseUrl, withOwnTimeouts } from '../support/postgres.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { until } from '../support/until.ts';

const stores: Store[] = [];
const relays: Relay[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const relay of relays.splice(0)) await relay.stop();
});

async function openNode(databaseUrl: string): Promise<Store> {
  const store = await openStore({
    databaseUrl,
    dataDir: '',
    synchronous: 'FULL',
    clock: systemClock,
    logger: silentLogger,
  });
  stores.push(store);
  return store;
}

async function openTwoNodes(): Promise<[Store, Store]> {
  const url = await testDatabaseUrl();
  return [await openNode(url), await openNode(url)];
}

test('two nodes that claim at once never get the same task, and miss none', async () => {
  const nodes = await openTwoNodes();
  const tasks = await Promise.all(Array.from({ length: 200 }, () => addRunningTask(nodes[0])));
  const wanted = new Set(tasks.map(({ taskId }) => taskId));
  const got: TaskRecord[] = [];
  while (got.length < 200) {
    const claims = Array.from({ length: 10 }, (_, i) =>
      nodes[i % 2]?.tasks.claimDue({ owner: `node-${i % 2}`, limit: 7, leaseForMs: 60_000, exceptChannels: [] }),
    );
    got.push(...(await Promise.all(claims)).flatMap((tasks) => tasks ?? []));
  }
  expect(got).toHaveLength(200);
  expect(new Set(got.map(({ taskId }) => taskId))).toEqual(wanted);
  // Each task can be ended by its holder alone.
  const ends = await Promise.all(
    got.flatMap((task) => [
      nodes[0].tasks.advance(readLease(task), { status: 'SUCCESS' }, null),
      nodes[1].tasks.advance({ ...readLease(task), leaseOwner: 'another' }, { status: 'FAILURE' }, null),
    ]),
  );
  expect(ends.filter(Boolean)).toHaveLength(200);
});

test('leases run by the database’s clock: a node whose clock is an hour ahead takes nothing early', async () => {
  const url = await testDatabaseUrl();
  const node = await openNode(url);
  const ahead = {
    ...systemClock,
    nowMs: () => Date.now() + 3_600_000,
    unix: () => Math.floor(Date.now() / 1000) + 3600,
  };
  const other = await openStore({
    databaseUrl: url,
    dataDir: '',
    synchronous: 'FULL',
    clock: ahead,
    logger: silentLogger,
  });
  stores.push(other);
  const claim = { owner: 'a', limit: 10, leaseForMs: 60_000, exceptChannels: [] };
  await addRunningTask(node);
  expect(await node.tasks.claimDue(claim)).toHaveLength(1);
  expect(await other.tasks.claimDue(claim)).toHaveLength(0);
});

test('one refresh token on two nodes: one rotation; the last money on two nodes: one reservation', async () => {
  const nodes = await openTwoNodes();
  const user = await addUser(nodes[0], { balance: 100 });
  const session = newSession(user.id);
  await nodes[0].sessions.insert(session);
  const rotated = await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      nodes[i % 2]?.sessions.rotate({
        sid: session.sid,
        expectedHash: session.refreshHash,
        expectedVersion: session.version,
        expectedUserAuthVersion: session.userAuthVersion,
        newHash: `n${i}`,
        previousValidUntil: 2030,
        ip: '',
        addressKey: '',
        userAgent: '',
        now: 2000,
      }),
    ),
  );
  expect(rotated.filter(Boolean)).toHaveLength(1);
  const reserved = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      nodes[i % 2]?.ledger.reserve({
        walletId: user.walletId,
        userId: user.id,
        apiKeyId: null,
        taskId: `t${i}`,
        attempt: 0,
        amount: 100,
        at: 1,
      }),
    ),
  );
  expect(reserved.filter((result) => result === 'ok')).toHaveLength(1);
});

test('a change on one node is heard once by each, and of nothing else', async () => {
  const nodes = await openTwoNodes();
  const heard: [number, ChangeTopic][] = [];
  for (const [i, node] of nodes.entries()) node.subscribe((topic) => heard.push([i, topic]));
  await nodes[0].publish('plugins');
  await until(() => heard.length >= 2);
  await nodes[1].publish('prices');
  await until(() => heard.length >= 4);
  expect(heard.sort()).toEqual([
    [0, 'plugins'],
    [0, 'prices'],
    [1, 'plugins'],
    [1, 'prices'],
  ]);
});

test('a server that goes away makes everything unavailable at once and nobody dies; when it is back, so is the store', async () => {
  const url = await testDatabaseUrl();
  const relay = await startRelay(url);
  relays.push(relay);
  const node = await openNode(relay.url);
  const direct = await openNode(url);
  const heard: ChangeTopic[] = [];
  node.subscribe((topic) => heard.push(topic));
  await node.options.put('before', 'x');

  const unfinished = node.transaction(async (tx) => {
    await tx.options.put('lost', 'x');
    await relay.cut();
    await tx.options.put('lost', 'y');
  });
  const unavailable = { code: 'store.unavailable', kind: 'unavailable' };
  await expect(unfinished).rejects.toMatchObject(unavailable);
  await expect(node.options.get('before')).rejects.toMatchObject(unavailable);
  await expect(node.transaction((tx) => tx.options.put('k', 'v'))).rejects.toMatchObject(unavailable);
  await expect(node.ping()).rejects.toMatchObject(unavailable);
  await node.publish('channels');
  expect(heard).toEqual(['channels']);

  await relay.mend();
  await until(() =>
    node.ping().then(
      () => true,
      () => false,
    ),
  );
  expect(await node.options.get('before')).toBe('x');
  expect(await node.options.get('lost')).toBeUndefined();
  await node.transaction((tx) => tx.options.put('after', 'x'));
  // Other nodes are heard again without anyone asking.
  await until(async () => {
    await direct.publish('plugins');
    return heard.includes('plugins');
  });
});

test('a session that the server ends in the middle of a transaction leaves nothing of it', async () => {
  const url = await testDatabaseUrl();
  const node = await openNode(url);
  const admin = new SQL({ url, max: 1 });
  const attempt = node.transaction(async (tx) => {
    await tx.options.put('half', 'x');
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and state like 'idle in%'`;
    await tx.options.put('whole', 'x');
  });
  await expect(attempt).rejects.toMatchObject({ kind: 'unavailable' });
  expect(await node.options.all()).toEqual([]);
  await admin.close();
});

testInFullRun('a row that another session holds is reported as locked, before the transaction is over', async () => {
  const url = await testDatabaseUrl();
  const node = await openNode(url);
  const { walletId } = await addUser(node);
  const other = new SQL({ url, max: 1 });
  await other.begin(async (tx) => {
    await tx`select 1 from wallets where id = ${walletId} for update`;
    await expect(node.transaction(({ ledger }) => ledger.lockBalance(walletId))).rejects.toMatchObject({
      code: 'store.locked',
    });
  });
  await other.close();
});

test('a caller that waited for another node’s use of the same thing finds it used', async () => {
  const url = await testDatabaseUrl();
  const nodes = [await openNode(url), await openNode(url)] as const;
  const admin = new SQL({ url, max: 1 });
  const { id } = await addUser(nodes[0]);
  await nodes[0].twoFactor.begin({ userId: id, secretSealed: 's', createdAt: 1 });
  await nodes[0].twoFactor.replaceBackupCodes(id, ['code'], 1);
  const flow = { provider: '', intent: '', userId: id, sessionId: '', payload: {}, createdAt: 1, expiresAt: 9 };
  await nodes[0].flows.insert({ ...flow, tokenHash: 'flow', purpose: '2fa_login', consumedAt: null });
  const passkey = await nodes[0].passkeys.insert({
    ...{ userId: id, credentialId: 'c', publicKey: 'k', rpId: 'r', name: '', counter: 5, transports: [] },
    ...{ backedUp: false, createdAt: 1 },
  });
  const uses: ((on: Repositories) => Promise<unknown>)[] = [
    ({ twoFactor }) => twoFactor.useBackupCode(id, ['code'], 2),
    ({ twoFactor }) => twoFactor.useStep(id, 7),
    // The first attempt locks.
    ({ twoFactor }) => twoFactor.countAttempt(id, { now: 2, limit: 1, lockSeconds: 60 }),
    ({ flows }) => flows.consume('flow', { purpose: '2fa_login' }, 2),
    ({ passkeys }) => passkeys.use(passkey?.id ?? 0, { expectedCounter: 5, counter: 6, backedUp: false, at: 2 }),
    ({ users }) => users.moveAuthVersion(id, 1),
  ];
  for (const [i, use] of uses.entries()) {
    let second: Promise<unknown> | undefined;
    const first = await nodes[0].transaction(async (tx) => {
      const won = await use(tx);
      second = use(nodes[1]);
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await admin.unsafe(waiting)).length === 1);
      return won;
    });
    expect([i, Boolean(first), Boolean(await second)]).toEqual([i, true, false]);
  }
  await admin.close();
});

test('clean-up waits for no session that is being written, and leaves it', async () => {
  const nodes = await openTwoNodes();
  const user = await addUser(nodes[0]);
  const sessions = [newSession(user.id), newSession(user.id), newSession(user.id)];
  for (const session of sessions) await nodes[0].sessions.insert(session);
  const kept = sessions[1]?.sid ?? '';
  const rows = { now: 9000, createdAfter: 8000, revokedAfter: 2000, limit: 10 };
  let deleted: Promise<number> | undefined;
  await nodes[0].transaction(async (tx) => {
    await tx.sessions.revoke(kept, 'logout', 8999);
    deleted = nodes[1].sessions.deleteExpired(rows);
    let done = false;
    void deleted.then(() => {
      done = true;
    });
    await until(() => done);
  });
  expect(await deleted).toBe(2);
  expect(await nodes[1].sessions.deleteExpired(rows)).toBe(0);
  expect(await nodes[0].sessions.bySid(kept)).toMatchObject({ status: 'revoked' });
});

test('exclusive work runs on one of two nodes, and on the other once it is over', async () => {
  const nodes = await openTwoNodes();
  for (const [i, node] of nodes.entries()) {
    const other = nodes[1 - i] as Store;
    let elsewhere: unknown = 'not tried';
    const value = await node.exclusively('clean-up', async () => {
      elsewhere = await other.exclusively('clean-up', async () => 'ran');
      return 'first';
    });
    expect([value, elsewhere]).toEqual(['first', undefined]);
  }
  // Jobs of other databases on the server do not matter.
  const stranger = await openNode(await testDatabaseUrl());
  expect(await nodes[0].exclusively('clean-up', () => stranger.exclusively('clean-up', async () => 'ran'))).toBe('ran');
});

const HELD = `select pid from pg_locks where locktype = 'advisory'
  and database = (select oid from pg_database where datname = current_database())`;

test('a node that dies in its exclusive work holds up nobody, and one whose connection is cut ends its own', async () => {
  const url = await testDatabaseUrl();
  const relay = await startRelay(url);
  relays.push(relay);
  const node = await openNode(relay.url);
  const other = await openNode(url);
  const goOn = Promise.withResolvers<string>();
  const started = Promise.withResolvers<void>();
  const cutOff = node.exclusively('clean-up', () => {
    started.resolve();
    return goOn.promise;
  });
  await started.promise;
  expect(await other.exclusively('clean-up', async () => 'ran')).toBeUndefined();
  await relay.cut();
  await until(async () => (await other.exclusively('clean-up', async () => 'ran')) === 'ran');
  await expect(node.exclusively('clean-up', async () => 'ran')).rejects.toMatchObject({ code: 'store.unavailable' });
  goOn.resolve('ended');
  expect(await cutOff).toBe('ended');

  // The server ends the session that holds the lock while the work runs: the work ends all the
  // same.
  const admin = new SQL({ url, max: 1 });
  const survivor = other.exclusively('clean-up', async () => {
    expect(await admin.unsafe(`select pg_terminate_backend(pid) from (${HELD}) as held`)).toHaveLength(1);
    return 'ended';
  });
  expect(await survivor).toBe('ended');
  expect(await other.exclusively('clean-up', async () => 'ran')).toBe('ran');
  expect(await admin.unsafe(HELD)).toHaveLength(0);
  await admin.close();
});

test('a connection that falls silent keeps no exclusive work waiting', async () => {
  const url = new URL(await testDatabaseUrl());
  const proxy = await startHoldingProxy({ host: url.hostname, port: Number(url.port || 5432) });
  url.port = new URL(proxy.url).port;
  // A time limit is over once a question is held back, and not before: a busy machine is not a
  // silent connection.
  const impatient = {
    ...systemClock,
    async sleep(_ms: number, signal?: AbortSignal) {
      const before = proxy.held();
      while (!signal?.aborted && proxy.held() === before) await Bun.sleep(5);
    },
  };
  const setup = { databaseUrl: url.href, dataDir: '', synchronous: 'FULL', logger: silentLogger } as const;
  const node = await openStore({ ...setup, clock: impatient });
  stores.push(node);
  Object.assign(proxy, { mode: 'hold_requests', match: 'pg_advisory_unlock' });
  expect(await node.exclusively('clean-up', async () => 'ended')).toBe('ended');
  proxy.match = 'pg_try_advisory_lock';
  await expect(node.exclusively('clean-up', async () => 'ended')).rejects.toMatchObject({ code: 'store.unavailable' });
  expect(proxy.held()).toBe(2);
  proxy.release();
  await until(async () => (await node.exclusively('clean-up', async () => 'ran')) === 'ran');
  await node.close();
  await proxy.stop();
});

test('a database that is lost at the commit: nobody is told that nothing was changed', async () => {
  const relay = await startRelay(await testDatabaseUrl());
  relays.push(relay);
  const node = await openNode(relay.url);
  const lost = (before: boolean) =>
    node
      .transaction(async (tx) => {
        await tx.options.put('k', 'v');
        await relay.cut();
        if (before) await tx.options.get('k');
      })
      .catch((error: unknown) => error as AppError);
  const atCommit = (await lost(false)) as AppError;
  expect([atCommit.code, atCommit.kind]).toEqual(['store.outcome_unknown', 'unavailable']);
  expect(atCommit.message).toContain('before you repeat it');
  await relay.mend();
  await until(async () => (await node.options.get('k').catch(() => 'away')) !== 'away');
  const sooner = (await lost(true)) as AppError;
  expect(sooner.code).toBe('store.unavailable');
  for (const { message } of [atCommit, sooner]) expect(message).not.toContain('Nothing was changed');
  await relay.mend();
  // Nor does the auth room, which has an answer of its own for trouble with the store.
  const refusal = await orUnavailable(silentLogger, () => Promise.reject(atCommit)).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'auth.unavailable', message: atCommit.message });
});

test('an unreachable database is reported plainly, and the password is never repeated', async () => {
  const good = new URL(await testDatabaseUrl());
  const variants: [string, (url: URL) => void][] = [
    ['cannot be reached', (url) => (url.port = '1')],
    ['rejected the sign-in', (url) => (url.username = 'no_such_user')],
    ['no database with the name', (url) => (url.pathname = '/no_such_database')],
  ];
  for (const [message, change] of variants) {
    const url = new URL(good);
    url.password ||= 'hunter2hunter2';
    change(url);
    const error = await openNode(url.href).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).code).toBe('store.unavailable');
    expect((error as AppError).message).toContain(message);
    expect(Bun.inspect(error)).not.toContain(url.password);
  }
});

testInFullRun('a backup whose connection is let in late waits for it', async () => {
  const relay = await startRelay(withOwnTimeouts(await testDatabaseUrl()), { waitMs: 7000 });
  relays.push(relay);
  const options = { databaseUrl: relay.url, clock: systemClock };
  expect(await withPostgresSnapshot(options, async ({ snapshot }) => snapshot)).toContain('-');
});
