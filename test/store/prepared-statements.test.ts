import { constants, Database as SqliteFile } from 'bun:sqlite';
import { beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import { newUuid, quoted, silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { RunStatement } from '../../src/store/drivers/connection.ts';
import { createMemoryLeases } from '../../src/store/drivers/memory-leases.ts';
import { migrateStore } from '../../src/store/index.ts';
import type { Repositories, Store, TaskRecord } from '../../src/store/ports/index.ts';
import { connectPostgres } from '../../src/store/postgres/open-postgres.ts';
import { createRepositories } from '../../src/store/repositories/index.ts';
import { tablesFor } from '../../src/store/schema/index.ts';
import { openSqliteFile, querySqlite } from '../../src/store/sqlite/open-sqlite.ts';
import { addKey, newSession, newTask, readLease } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

type Ids = { userId: number; keyId: number; channelId: number; task: TaskRecord; sid: string };
type Work = [name: string, work: (store: Repositories, ids: Ids) => Promise<unknown>];

const at = 1_000;
const lease = { owner: 'node', limit: 10, leaseForMs: 60_000 };
const entry = ({ userId, keyId, task }: Ids) => ({
  ...{
    walletId: userId,
    userId,
    apiKeyId: keyId,
    taskId: task.taskId,
    attempt: Math.floor(Math.random() * 2 ** 40),
    at,
  },
});

const webhook = ({ userId, keyId, task }: Ids) => ({
  ...{ eventId: newUuid(), taskId: task.taskId, userId, apiKeyId: keyId, event: 'task.updated' as const },
  ...{ url: 'https://example.org/', host: 'example.org', payload: {}, createdAt: at },
});

/** The statements of a request, and what they take. */
const requests: Work[] = [
  ['a session by its id', ({ sessions }, { sid }) => sessions.bySid(sid)],
  ['a session with its user', ({ sessions }, { sid }) => sessions.withUser(sid)],
  ['what a user signs in with', ({ users }, { userId }) => users.signInMethods(userId)],
  ['a second factor', ({ twoFactor }, { userId }) => twoFactor.byUser(userId)],
  ['passkeys', ({ passkeys }, { userId }) => passkeys.list(userId)],
  ['a passkey', ({ passkeys }) => passkeys.byCredentialId('id')],
  ['identities', ({ identities }, { userId }) => identities.list(userId)],
  ['the owner of an identity', ({ identities }) => identities.owner('github', 'subject')],
  ['a user by name or address', ({ users }) => users.byNameOrAddress('name')],
  ['the time of a login', ({ users }, { userId }) => users.recordSignIn(userId, at)],
  ['the live sessions of a user', ({ sessions }, { userId }) => sessions.countActive(userId, at)],
  ['the new sessions of a user', ({ sessions }, { userId }) => sessions.countIssued(userId, at)],
  ['sessions of an address', ({ sessions }, { userId }) => sessions.ofAddress(userId, '203.0.113.1', 5)],
  ['a new session', ({ sessions }, { userId }) => sessions.insert(newSession(userId))],
  ['the last use of a session', ({ sessions }, { sid }) => sessions.touch(sid, at)],
  ['an API key by its id', ({ apiKeys }, { keyId }) => apiKeys.byId(keyId)],
  ['a kept result', ({ results }, { task }) => results.find(task.taskId, 'video')],
  ['the kept results of a task', ({ results }, { task }) => results.ofTasks([task.taskId])],
  ['previews of tasks', ({ previews }, { task }) => previews.ofTasks([task.taskId])],
  ['the timeline of a task', ({ tasks }, { task }) => tasks.events(task.taskId)],
  ['the ledger of a task', ({ ledger }, { task }) => ledger.byTask(task.taskId)],
  ['a channel', ({ channels }, { channelId }) => channels.byId(channelId)],
  ['its credentials', ({ credentials }, { channelId }) => credentials.ofChannel(channelId)],
  ['a user by its id', ({ users }, { userId }) => users.byId(userId)],
  ['a user by a personal access token', ({ users }) => users.byAccessToken('hash')],
  ['an API key by its hash', ({ apiKeys }) => apiKeys.byHash('hash', 1)],
  ['the last use of an API key', ({ apiKeys }, { keyId }) => apiKeys.touch(keyId, { at, ip: '203.0.113.9' })],
  [
    'the rotation of a refresh token',
    ({ sessions }, { sid }) =>
      sessions.rotate({
        ...{ sid, expectedHash: 'a', expectedVersion: 1, expectedUserAuthVersion: 1 },
        ...{ newHash: 'b', previousValidUntil: at, now: at },
        ...{ ip: '', addressKey: '', userAgent: '' },
      }),
  ],
  ['a task by its id', ({ tasks }, { task }) => tasks.byTaskId(task.taskId)],
  ['a kept result by a link', ({ tasks }, { task }) => tasks.linkedResult(task.taskId, 'video')],
  ['a task by a link', ({ tasks }, { task }) => tasks.linked(task.taskId, 'video')],
  ['a task of a user', ({ tasks }, { task }) => tasks.byUser(task.userId, task.taskId)],
  ['the summary of a task', ({ tasks }, { task }) => tasks.summaryByUser(task.userId, task.taskId)],
  ['what a task shows', ({ tasks }, { task }) => tasks.shownByUser(task.userId, task.taskId)],
  ['the tasks that changed', ({ tasks }, { task }) => tasks.byTaskIds([{ ...task, status: 'QUEUED' }])],
];

/** The statements of sign-in, of changes to an account, and of the audit log. */
const accounts: Work[] = [
  ['a new version of a session', ({ sessions }, { sid }) => sessions.advance({ ...version, sid })],
  ['sessions that are usable', ({ sessions }, { sid }) => sessions.usable([sid, newUuid()], at)],
  ['the end of all sessions but one', ({ sessions }, ids) => sessions.revokeAll(ending(ids, ids.sid))],
  ['the end of all sessions', ({ sessions }, ids) => sessions.revokeAll(ending({ ...ids, userId: -1 }, null))],
  ['live sessions', ({ sessions }, { userId }) => sessions.active(userId, at)],
  ['a page of sessions', ({ sessions }, { userId }) => sessions.list({ userId, now: at, authVersion: 1, limit: 5 })],
  ['the end of a session', ({ sessions }) => sessions.revoke('sid', 'test', at)],
  ['a changed user', ({ users }, { userId }) => users.update(userId, { displayName: newUuid(), language: 'en' })],
  ['a new username', ({ users }, { userId }) => users.update(userId, { username: 'renamed' })],
  ['a new password', ({ users }, { userId }) => users.setPassword(userId, 'hash', 1)],
  ['a new version of a user', ({ users }, { userId }) => users.moveAuthVersion(userId, 1)],
  ['administrators', ({ users }) => users.countByRole(100)],
  ['a personal access token', ({ users }, { userId }) => users.findAccessToken(userId)],
  ['a new flow', ({ flows }) => flows.insert({ ...flow(), consumedAt: null })],
  ['a flow', ({ flows }) => flows.find('hash', { purpose: 'oauth', provider: newUuid() } as never, at)],
  ['the use of a flow', ({ flows }) => flows.consume('hash', { purpose: 'oauth', userId: 7 } as never, at)],
  [
    'a code that was sent',
    ({ flows }) => flows.putCode({ ...flow(), tokenHash: 'code', secretHash: 'secret' } as never),
  ],
  ['a try of a code', ({ flows }) => flows.countTry({ ...code, limit: 5 })],
  ['a code', ({ flows }) => flows.findCode({ ...code, secretHashes: [newUuid()] })],
  ['the use of a code', ({ flows }) => flows.takeCode({ ...code, secretHashes: [newUuid(), newUuid()] })],
  ['a try of a second factor', ({ twoFactor }, { userId }) => twoFactor.countAttempt(userId, { now: at, ...lock })],
  ['a code of an app', ({ twoFactor }, { userId }) => twoFactor.useStep(userId, 5)],
  ['the right code', ({ twoFactor }, { userId }) => twoFactor.clearAttempts(userId)],
  [
    'an audit row',
    ({ logs }, { userId }) =>
      logs.addAudit({
        ...{ userId, username: 'name', authMethod: 'session', ip: '', action: 'auth.login' },
        ...{ target: '', detail: {}, createdAt: at },
      } as never),
  ],
];

const version = { expectedVersion: 1, expectedUserAuthVersion: 1, userAuthVersion: 2, now: at };
const lock = { limit: 5, lockSeconds: 60 };
const ending = ({ userId }: Ids, exceptSid: string | null) => ({ userId, exceptSid, reason: 'test', now: at });
const code = { tokenHash: 'code', purpose: 'oauth' as never, now: at };
const flow = () => ({
  ...{ tokenHash: newUuid(), purpose: 'oauth' as never, provider: 'github', intent: 'login', userId: 1 },
  ...{ sessionId: '', payload: {}, createdAt: at, expiresAt: 2 * at },
});

/** The statements of a request that a channel relays. */
const relays: Work[] = [
  [
    'a relayed request from its begin to its end',
    async ({ relays }, { userId, keyId }) => {
      const [relayId, owner] = [newUuid(), 'node'];
      await relays.open({
        ...{
          relayId,
          kind: 'response',
          userId,
          walletId: userId,
          apiKeyId: keyId,
          group: 'default',
          channelId: 1,
          credentialId: null,
          model: 'm',
        },
        ...{ quota: 1, billing: {} as never, requestId: 'r', leaseOwner: owner, createdAt: at, leaseForMs: 1 },
      });
      const object = { userId, channelId: 1, credentialId: null, relayId, vendor: 'v', createdAt: at };
      await relays.addObject({ ...object, objectId: newUuid(), kind: 'response' });
      await relays.move(relayId, owner, {
        channelId: 2,
        credentialId: null,
        quota: 2,
        billing: {} as never,
        leaseForMs: 1,
      });
      await relays.renew(relayId, owner, 1);
      const ended = { quota: 2, billing: {} as never, httpStatus: 200, finishedAt: at };
      await relays.end({ relayId, by: { owner }, reserved: 2 }, { ...ended, status: 'BILLED' });
      await relays.end({ relayId, by: 'anyone_after_expiry', reserved: 2 }, { ...ended, status: 'REFUNDED' });
      await relays.release(relayId, owner);
      const held = { relayId: newUuid(), kind: 'chat', userId, walletId: userId, apiKeyId: keyId } as const;
      await relays.insertEnded({
        ...{ ...held, group: 'default', channelId: 1, credentialId: null, model: 'm', requestId: 'r' },
        ...{ ...ended, leaseOwner: owner, createdAt: at, status: 'BILLED' },
      });
      expect(await relays.isDelivered(relayId)).toBe(true);
      expect((await relays.byRelayId(relayId))?.status).toBe('BILLED');
      expect((await relays.findObject(relayId))?.relayId).toBe(relayId);
      await relays.ownObject(userId, 'response', 'id');
      await relays.ownParts(userId, 'item', [newUuid(), newUuid()]);
    },
  ],
];

/** The statements of a submission. */
const submissions: Work[] = [
  ['a new task', ({ tasks }, { userId }) => tasks.insert(newTask({ userId }))],
  ['new tasks', ({ tasks }, { userId }) => tasks.insertAll([newTask({ userId }), newTask({ userId })])],
  [
    'an idempotency key',
    ({ idempotency }, { userId, task: { taskId } }) =>
      idempotency.take({ userId, key: newUuid(), requestHash: 'h', taskId, at, expiresAt: 2 * at }),
  ],
  ['a known idempotency key', ({ idempotency }, { userId }) => idempotency.find(userId, 'key', at)],
  ['the end of an idempotency key', ({ idempotency }, { userId }) => idempotency.free(userId, 'task')],
  ['a reservation', ({ ledger }, ids) => ledger.reserve({ ...entry(ids), amount: 1 })],
  ['whether it would be taken', ({ ledger }, ids) => ledger.canReserveAll([{ ...entry(ids), amount: 1 }])],
  [
    'a replaced reservation',
    ({ ledger }, ids) => ledger.replaceReservation({ ...entry(ids), amount: 1, note: quoted('moved') }),
  ],
  ['reservations', ({ ledger }, ids) => ledger.reserveAll([1, 2].map((amount) => ({ ...entry(ids), amount })))],
  [
    'an event',
    ({ tasks }, { task }) => tasks.addEvent({ taskId: task.taskId, at, kind: 'transition', status: 'QUEUED' }),
  ],
  [
    'events',
    ({ tasks }, { task }) => tasks.addEvents([{ taskId: task.taskId, at, kind: 'transition', status: 'QUEUED' }]),
  ],
  ['the rows of limits', ({ capacity }) => capacity.lock([{ pool: newUuid(), model: 'm' }])],
  [
    'what limits count',
    ({ capacity }, { channelId }) =>
      capacity.count([{ accounts: [{ channelId, credentialId: 0 }], model: 'm', starts: true }], 62_000),
  ],
  ['what runs', ({ capacity }, { task }) => capacity.running([task.taskId, newUuid()], newUuid())],
  [
    'the trial of a rest',
    ({ capacity }, { task }) => capacity.claimTrial({ pool: '#1', model: 'm' }, { generation: 1, taskId: task.taskId }),
  ],
  ['what the vendor answered', ({ tasks }, { task }) => tasks.advance(readLease(task), { upstreamTaskId: 'u' }, 5)],
];

/** The statements of a poll, and of the end of a task. */
const polls: Work[] = [
  ['due tasks', ({ tasks }) => tasks.claimDue({ ...lease, exceptChannels: [] })],
  ['interrupted submissions', ({ tasks }) => tasks.claimInterrupted(lease)],
  ['overdue tasks', ({ tasks }) => tasks.claimOverdue({ ...lease, submittedBefore: 1 })],
  [
    'the results of polls',
    ({ tasks }, { task }) =>
      tasks.advanceAll([
        { lease: { ...readLease(task), leaseSeq: 0 }, change: { polls: 1 }, nextPollInMs: 5 },
      ] as never),
  ],
  ['a webhook about progress', ({ webhooks }, ids) => webhooks.putUpdate(webhook(ids), 1, 1)],
  ['a webhook about the end', ({ webhooks }, ids) => webhooks.putFinish(webhook(ids), 1)],
  ['a webhook about kept results', ({ webhooks }, ids) => webhooks.putKept(webhook(ids), 1)],
  ['the lock of a task', ({ results }, { task }) => results.lockTask(task.taskId)],
  ['due webhooks', ({ webhooks }) => webhooks.claim({ ...lease, exclude: { hosts: [], users: [], userHosts: [] } })],
  [
    'the end of an attempt',
    async ({ webhooks }, ids) => {
      await webhooks.putFinish(webhook(ids), 60_000);
      const claimed = await webhooks.claim({ ...lease, exclude: { hosts: [], users: [], userHosts: [] } });
      const delivery = { at, httpStatus: 200, durationMs: 1, error: '' };
      for (const each of claimed)
        await webhooks.settle({ ...each, leaseOwner: 'node' }, { status: 'delivered' }, delivery);
    },
  ],
  [
    'a usage row',
    ({ logs }, { userId, keyId, channelId, task: { taskId } }) =>
      logs.addUsage({
        ...{ userId, walletId: userId, apiKeyId: keyId, taskId, channelId, pluginKey: 'demo', model: 'm' },
        ...{ kind: 'settle' as const, quota: 1, detail: {}, createdAt: at },
      }),
  ],
  [
    'usage rows',
    ({ logs }, { userId, keyId, channelId, task: { taskId } }) => {
      const row = { userId, walletId: userId, apiKeyId: keyId, taskId, channelId, pluginKey: 'demo', model: 'm' };
      const settled = { ...row, kind: 'settle' as const, quota: 1, detail: {}, createdAt: at };
      return logs.addUsageRows([settled, settled]);
    },
  ],
  [
    'settlements',
    ({ ledger }, ids) =>
      ledger.settleAll({
        lines: [{ ...entry(ids), kind: 'settle', amount: 1 }],
        usage: [{ ...entry(ids), channelId: 1, quota: 1 }],
      }),
  ],
  ['a settlement', ({ ledger }, ids) => ledger.post({ ...entry(ids), kind: 'settle', amount: 1 })],
  [
    'counters',
    ({ ledger }, { userId, keyId, channelId }) =>
      ledger.addUsage({ walletId: userId, apiKeyId: keyId, channelId, quota: 1 }),
  ],
];

/** Every method of a repository that runs often is called by one of these. */
const everything = [...requests, ...accounts, ...relays, ...submissions, ...polls];

/**
 * What is not checked of a repository that has a case above: methods of administration, clean-up
 * and the start, and those that take lists of any length or run far less often than requests.
 */
const UNCHECKED: Readonly<Record<string, string>> = {
  apiKeys:
    'delete deleteAll endFormer forgetFormers insert list names rotate rotateWebhookSecret update usable withWebhookSecret',
  capacity: 'all beginRest clearAbandoned clearCeilings endRest putCeiling restEvents wake',
  channels: 'addUsedQuota all delete insert list update',
  credentials: 'all byId claimBalance deleteUnused insert recordBalance recordError recordReportedLimits remove update',
  flows: 'deleteDone deleteOfUser',
  idempotency: 'deleteExpired',
  identities: 'claim countProvider release releaseAll',
  ledger:
    'budgetImbalances budgetsSpent byGrantKey countStatement deleteBudgetSums grant imbalances list lockBalance openTasks setBalance statementLines statementTasks',
  logs: 'deleteAudit listAudit listUsage readAudit readUsage verifyAudit',
  passkeys: 'delete deleteAll insert rename use',
  previews: 'add forgetOldest usage schedule',
  relays: 'addParts deleteEnded deleteObjects expireLeases hide interrupted pageByUser rebill refundBilled',
  results:
    'releaseHeld releaseAbandoned claim deleted depth expectFile expireLeases files forget forgetExpired forgetInputs forgetOfDeletedUsers listInputs keep keepFiles knownFiles list postpone releaseOwner renew retry takeOrphan takeUnused untilDue usage usageByUser schedule',
  sessions: 'countAllIssued deleteExpired deleteRevoked',
  tasks:
    'makeDue amend byIds countUnfinished expireAllLeases failureReasons feed hide keepStreamedOutputs latestSuccesses latestWithData list notePassedOver noteVendorJob pageByUser pullForwardDueTimes queueDepth releaseOwner renew setLinkVersions shiftStreamedOutputs streamedOutputsAfter untilDue',
  twoFactor: 'begin countBackupCodes delete enable enabledAfter giveBackAttempt replaceBackupCodes useBackupCode',
  users:
    'adminById administer byAffCode countInvited ensureAffCode insert lock moveLinkVersion search setAccessToken softDelete usableTokens replaceHash',
  webhooks:
    'putQueued byEventId deleteOld depth expireLeases listOfTask redeliver releaseOwner settle untilDue putGatewayNotice latestOfOperator',
};

/**
 * A connection that cannot compile statements while `lock` holds: the schema of a database that is
 * attached to it is being written. What is compiled already runs on.
 */
function openLockable(path: string): { file: SqliteFile; lock: () => void; unlock: () => void } {
  const flags = constants.SQLITE_OPEN_READWRITE | constants.SQLITE_OPEN_CREATE | constants.SQLITE_OPEN_URI;
  const attached = `file:${newUuid()}?mode=memory&cache=shared`;
  const file = new SqliteFile(path, flags);
  const other = new SqliteFile(attached, flags);
  file.run(`attach '${attached}' as attached`);
  return {
    file,
    lock() {
      other.run('begin');
      other.run('create table written (column)');
    },
    unlock: () => void other.run('rollback'),
  };
}

/** What the tests of SQLite work with. */
let sqlite: { store: Repositories; ids: Ids };

describe('SQLite', () => {
  let file: SqliteFile;
  let lockable: ReturnType<typeof openLockable>;
  let store: Repositories;
  let ids: Ids;

  beforeAll(async () => {
    const dataDir = temporaryFolder();
    const options = { databaseUrl: '', dataDir, synchronous: 'NORMAL', clock: systemClock } as const;
    await migrateStore({ ...options, logger: silentLogger });
    // A connection of the gateway sets how many statements each one keeps compiled.
    openSqliteFile(dataDir, 'NORMAL').close();
    lockable = openLockable(join(dataDir, 'taskgate.db'));
    file = lockable.file;
    store = createRepositories(
      {
        dialect: 'sqlite',
        tables: tablesFor('sqlite'),
        clock: systemClock,
        run: async (text, params) => querySqlite(file, text, params),
      },
      { leases: createMemoryLeases(systemClock), onCommit: (act) => act() },
    );
    ids = await addRows(store);
    sqlite = { store, ids };
  });

  test('cannot compile a statement while the schema is locked', () => {
    lockable.lock();
    expect(() => file.query('select 1 from users where id = 42')).toThrow('database schema is locked');
    lockable.unlock();
  });

  test('compiles what runs often once, whatever the values', async () => {
    for (const [, work] of everything) await work(store, ids);
    lockable.lock();
    const compiled: string[] = [];
    for (const [name, work] of everything) await work(store, ids).catch((error) => compiled.push(`${name}: ${error}`));
    lockable.unlock();
    expect(compiled).toEqual([]);
  });

  test('gets what runs often from the query builder once', async () => {
    for (const [, work] of everything) await work(store, ids);
    const builder = spyOn(SQLiteAsyncDialect.prototype, 'sqlToQuery');
    const builtAgain: string[] = [];
    for (const [name, work] of everything) {
      builder.mockClear();
      await work(store, ids);
      if (builder.mock.calls.length > 0) builtAgain.push(name);
    }
    builder.mockRestore();
    expect(builtAgain).toEqual([]);
  });
});

test('every method of a repository that runs often is checked above, or listed as unchecked', async () => {
  const called = new Set<string>();
  const methods: string[] = [];
  const watched = Object.fromEntries(
    Object.entries(sqlite.store).map(([repository, its]) => [
      repository,
      Object.fromEntries(
        Object.entries(its as Record<string, (...args: unknown[]) => unknown>).map(([name, method]) => {
          methods.push(`${repository}.${name}`);
          return [
            name,
            (...args: unknown[]) => {
              called.add(`${repository}.${name}`);
              return method(...args);
            },
          ];
        }),
      ),
    ]),
  ) as unknown as Repositories;
  for (const [, work] of everything) await work(watched, sqlite.ids);
  const unchecked = Object.entries(UNCHECKED).flatMap(([repository, names]) =>
    names.split(' ').map((name) => `${repository}.${name}`),
  );
  const readRepository = (name: string): string => name.slice(0, name.indexOf('.'));
  const checked = new Set([...called].map(readRepository));
  const missing = methods.filter(
    (name) => checked.has(readRepository(name)) && !called.has(name) && !unchecked.includes(name),
  );
  expect(missing.map((name) => `${name}: add a case above, or its name to UNCHECKED`)).toEqual([]);
  const gone = unchecked.filter((name) => !methods.includes(name));
  expect(gone.map((name) => `${name}: remove it from UNCHECKED, no repository has it`)).toEqual([]);
  const idle = Object.keys(UNCHECKED).filter((repository) => !checked.has(repository));
  expect(idle.map((repository) => `${repository}: remove it from UNCHECKED, no case calls it`)).toEqual([]);
});

test('PostgreSQL prepares what requests run often once, and keeps one plan for all values', async () => {
  const sql = connectPostgres(await migratedDatabaseUrl(), 1);
  const run: RunStatement = async (text, params) => (await sql.unsafe(text, params).values()) as unknown[][];
  const store = createRepositories({ dialect: 'postgres', tables: tablesFor('postgres'), clock: systemClock, run });
  const ids = await addRows(store);
  // PostgreSQL compares five plans for given values with one for all.
  for (let round = 0; round < 6; round += 1) for (const [, work] of requests) await work(store, ids);
  const prepared: { statement: string; generic: number; count: number }[] = await sql`
    select statement, sum(generic_plans)::int as generic, count(*)::int as count from pg_prepared_statements
    where statement like 'select%' or statement like 'update%' group by statement having sum(generic_plans + custom_plans) > 5`;
  expect(prepared.length).toBeGreaterThan(15);
  expect(prepared.filter(({ generic, count }) => generic === 0 || count > 1)).toEqual([]);
  await sql.close();
});

/** A user with a key, a session and a task. */
async function addRows(store: Repositories): Promise<Ids> {
  const user = await addUser(store as Store, { balance: 1_000_000 });
  const key = await addKey(store as Store, user.id, { keyHash: 'hash' });
  const session = newSession(user.id);
  await store.sessions.insert(session);
  const task = await store.tasks.insert(newTask({ userId: user.id }));
  return { userId: user.id, keyId: key.id, channelId: 1, task, sid: session.sid };
}
