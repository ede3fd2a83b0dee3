import { constants, Database as SqliteFile } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { newUuid, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createMemoryLeases } from '../../src/store/drivers/memory-leases.ts';
import { migrateStore } from '../../src/store/index.ts';
import type { Repositories, Store, TaskRecord } from '../../src/store/ports/index.ts';
import { createRepositories } from '../../src/store/repositories/index.ts';
import { tablesOf } from '../../src/store/schema/index.ts';
import { addKey, addUser, leaseOf, newSession, newTask } from '../contract/each-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

setDefaultTimeout(120_000);

type Ids = { userId: number; keyId: number; channelId: number; task: TaskRecord; sid: string };
type Work = [name: string, work: (store: Repositories, ids: Ids) => Promise<unknown>];

const at = 1_000;
const lease = { owner: 'node', limit: 10, leaseForMs: 60_000 };
const entry = ({ userId, keyId, task }: Ids) => ({
  ...{ userId, apiKeyId: keyId, taskId: task.taskId, attempt: Math.floor(Math.random() * 2 ** 40), at },
});

/** The statements of a request, and what they take. */
const requests: Work[] = [
  ['a session by its id', ({ sessions }, { sid }) => sessions.bySid(sid)],
  ['a user by its id', ({ users }, { userId }) => users.byId(userId)],
  ['a user by a personal access token', ({ users }) => users.byAccessToken('hash')],
  ['an API key by its hash', ({ apiKeys }) => apiKeys.byHash('hash')],
  ['the last use of an API key', ({ apiKeys }, { keyId }) => apiKeys.touch(keyId, at)],
  [
    'the rotation of a refresh token',
    ({ sessions }, { sid }) =>
      sessions.rotate({
        ...{ sid, expectedHash: 'a', newHash: 'b', previousValidUntil: at, now: at },
        ...{ ip: '', addressKey: '', userAgent: '' },
      }),
  ],
  ['a task by its id', ({ tasks }, { task }) => tasks.byTaskId(task.taskId)],
  ['a task of a user', ({ tasks }, { task }) => tasks.byUser(task.userId, task.taskId)],
  ['the tasks that changed', ({ tasks }, { task }) => tasks.byTaskIds([{ ...task, status: 'QUEUED' }])],
];

/** The statements of a submission. */
const submissions: Work[] = [
  ['a new task', ({ tasks }, { userId }) => tasks.insert(newTask({ userId }))],
  ['a reservation', ({ ledger }, ids) => ledger.reserve({ ...entry(ids), amount: 1 })],
  [
    'an event',
    ({ tasks }, { task }) => tasks.addEvent({ taskId: task.taskId, at, kind: 'transition', status: 'QUEUED' }),
  ],
  ['what the vendor answered', ({ tasks }, { task }) => tasks.advance(leaseOf(task), { upstreamTaskId: 'u' }, 5)],
];

/** The statements of a poll, and of the end of a task. */
const polls: Work[] = [
  ['due tasks', ({ tasks }) => tasks.claimDue({ ...lease, exceptChannels: [] })],
  ['interrupted submissions', ({ tasks }) => tasks.claimInterrupted(lease)],
  ['overdue tasks', ({ tasks }) => tasks.claimOverdue({ ...lease, submittedBefore: 1 })],
  [
    'the results of polls',
    ({ tasks }, { task }) =>
      tasks.advanceAll([{ lease: { ...leaseOf(task), leaseSeq: 0 }, change: { polls: 1 }, nextPollInMs: 5 }] as never),
  ],
  ['a settlement', ({ ledger }, ids) => ledger.post({ ...entry(ids), kind: 'settle', amount: 1 })],
  [
    'counters',
    ({ ledger }, { userId, keyId, channelId }) => ledger.addUsage({ userId, apiKeyId: keyId, channelId, quota: 1 }),
  ],
];

const everything = [...requests, ...submissions, ...polls];

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

describe('SQLite', () => {
  let file: SqliteFile;
  let lockable: ReturnType<typeof openLockable>;
  let store: Repositories;
  let ids: Ids;

  beforeAll(async () => {
    const dataDir = temporaryFolder();
    const options = { databaseUrl: '', dataDir, synchronous: 'NORMAL', clock: systemClock } as const;
    await migrateStore({ ...options, logger: silentLogger });
    lockable = openLockable(join(dataDir, 'taskgate.db'));
    file = lockable.file;
    store = createRepositories(
      {
        dialect: 'sqlite',
        tables: tablesOf('sqlite'),
        clock: systemClock,
        run: async (text, params) => file.query(text).values(...(params as never[])),
      },
      { leases: createMemoryLeases(systemClock), onCommit: (act) => act() },
    );
    const user = await addUser(store as Store, 1_000_000);
    const key = await addKey(store as Store, user.id, { keyHash: 'hash' });
    const session = newSession(user.id);
    await store.sessions.insert(session);
    const task = await store.tasks.insert(newTask({ userId: user.id }));
    ids = { userId: user.id, keyId: key.id, channelId: 1, task, sid: session.sid };
  });
  afterAll(() => file.close());

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
});
