import { Database } from 'bun:sqlite';
import { hash } from 'node:crypto';

/** What the least programs know of the gateway's data: few tables of few columns. */
const TABLES = `
  create table users (id integer primary key, name text, role integer, version integer, quota integer);
  create table sessions (sid text primary key, user_id integer, version integer, hash text, previous text, active_at integer);
  create table keys (hash text primary key, user_id integer, quota integer);
  create table tasks (id integer primary key, task_id text unique, user_id integer, properties text, data text);
  create table due (id integer primary key, status text, vendor_id text, next_poll_at integer, digest text);
  create index due_at on due (next_poll_at);
  create table events (id integer primary key, task_id integer, at integer, kind text);
  create table ledger (id integer primary key, user_id integer, task_id integer, amount integer);
  create table listed (id integer primary key, task_id text, user_id integer, key_id integer, channel_id integer, platform text,
    model text, action text, status text, progress text, reason text, created_at integer, submitted_at integer,
    started_at integer, ended_at integer, quota integer, reserved integer, vendor_id text, upstream_model text,
    version text, request_id text, polls integer, failures integer, input text, hidden_at integer);
  create index listed_user on listed (user_id, id, hidden_at);
`;

/** The tasks of the list, as many as those of the gateway's row. */
const LIST_TASKS = `insert into listed
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
  select i, 'task_' || hex(randomblob(16)), 1, 1, 1, 'demo', 'demo-video', 'text_to_video', 'SUCCESS', '100%', '', 1700000000 + i,
    1700000000 + i, 1700000000 + i, 1700000001 + i, 200, 200, 'job-' || i, 'demo-video', '1.0.0', hex(randomblob(16)), 1, 0,
    'a lighthouse in the fog [file=1]', 0 from n`;

export const KEY = 'sk-0123456789abcdef0123456789abcdef0123456789abcdef';
export const SIDS = Array.from({ length: 32 }, (_, index) => `session-${index}`);

export const sha256 = (text: string): string => hash('sha256', text, 'hex');

/** A database in write-ahead mode with one user, their key, 32 sessions and a task. */
export function openTables(path: string, synchronous: 'FULL' | 'NORMAL'): Database {
  const database = new Database(path, { create: true });
  database.run('pragma journal_mode = wal');
  database.run(`pragma synchronous = ${synchronous}`);
  for (const statement of TABLES.split(';').filter((text) => text.trim() !== '')) database.run(statement);
  database.run("insert into users values (1, 'root', 100, 1, 1000000000)");
  database.run('insert into keys values (?, 1, 1000000000)', [sha256(KEY)]);
  for (const sid of SIDS) database.run("insert into sessions values (?, 1, 1, '', '', 0)", [sid]);
  const properties = JSON.stringify({ model: 'demo-video', prompt: 'a lighthouse in the fog', seconds: 4 });
  database.run("insert into tasks values (1, 'task-1', 1, ?, ?)", [properties, properties]);
  database.run(LIST_TASKS);
  return database;
}

/**
 * Writes of one moment share a transaction, and so a commit: each is done when it is on the disk.
 */
export function createGroupCommit(database: Database): (write: () => void) => Promise<void> {
  let waiting: { write: () => void; done: () => void }[] = [];
  const commit = database.transaction((writes: typeof waiting) => {
    for (const { write } of writes) write();
  });
  const flush = () => {
    const writes = waiting;
    waiting = [];
    commit(writes);
    for (const { done } of writes) done();
  };
  return (write) =>
    new Promise((done) => {
      if (waiting.push({ write, done }) === 1) setImmediate(flush);
    });
}
