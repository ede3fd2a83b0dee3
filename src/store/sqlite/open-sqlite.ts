import { type SQLQueryBindings, Database as SqliteFile } from 'bun:sqlite';
import { accessSync, closeSync, constants, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock, Logger } from '../../kernel/index.ts';
import type { BindRepositories, Driver } from '../drivers/connection.ts';
import { createChangeListeners } from '../drivers/connection.ts';
import { storeErrors, toStoreError } from '../drivers/errors.ts';
import { createTransactionGuard, type Scope } from '../drivers/guard-transactions.ts';
import { createMemoryLeases } from '../drivers/memory-leases.ts';
import type { Repositories } from '../ports/index.ts';
import { markCopy } from './database-mark.ts';
import { createLogFlush, flushFolder, usesLog } from './flush.ts';
import { createGroupCommit } from './group-commit.ts';
import { createReadSnapshot } from './read-snapshot.ts';
import { claimLog } from './refuse-foreign-log.ts';
import { CHECKPOINT_PAGES, scheduleCheckpoints } from './schedule-checkpoints.ts';
import { LOCK_TIMEOUT_MS } from './wait-for-lock.ts';

const READS = /^\s*(select|with)\b/i;

/**
 * Pages (4 KiB) in the write-ahead log from which SQLite itself copies it into the database: four
 * times as many as those after which a gateway does so in another thread, in case that fails.
 */
const LATE_CHECKPOINT_PAGES = 4 * CHECKPOINT_PAGES;

/**
 * Page cache of the writing connection in KiB, instead of SQLite's 2 MB: the indexes of 100,000
 * running tasks fit.
 */
const CACHE_KIB = 16 * 1024;

/**
 * Statements that a connection keeps compiled, the latest used: more than a busy gateway runs.
 * Beyond Bun's 20, each of its statements would be compiled again at every use.
 */
const KEPT_STATEMENTS = 256;

export const sqlitePath = (dataDir: string): string => join(dataDir, 'taskgate.db');

/** Creates the data directory, for its owner only: it holds secrets. */
export function prepareDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    accessSync(dataDir, constants.W_OK);
  } catch (error) {
    throw unwritableDataDir(dataDir, error);
  }
}

/** Creates the database file, empty, unless it is there. */
export function prepareSqliteFile(dataDir: string): void {
  try {
    closeSync(openSync(sqlitePath(dataDir), 'a', 0o600));
  } catch (error) {
    throw unwritableDataDir(dataDir, error);
  }
}

export function unwritableDataDir(dataDir: string, error: unknown): Error {
  const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
  return storeErrors.unavailable({
    message: `The data directory ${dataDir} cannot be written (${reason}). Check that it exists, its permissions and the free space.`,
  });
}

/** A connection with our settings. The file must exist. */
export function openSqliteFile(dataDir: string, synchronous: 'FULL' | 'NORMAL'): SqliteFile {
  try {
    SqliteFile.MAX_QUERY_CACHE_SIZE = KEPT_STATEMENTS;
    const file = new SqliteFile(sqlitePath(dataDir), { readwrite: true });
    // First, so that the other pragmas wait for a lock too.
    file.run(`pragma busy_timeout = ${LOCK_TIMEOUT_MS}`);
    file.run('pragma journal_mode = wal');
    file.run(`pragma synchronous = ${synchronous}`);
    file.run('pragma foreign_keys = on');
    // Programs that write only now and then have no thread for it.
    file.run(`pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    return file;
  } catch (error) {
    throw toStoreError(error);
  }
}

/**
 * Copies the database to `target`; readable by its owner only. An earlier copy of that name is
 * replaced once the new one is complete. `isKept`: it survives a power cut.
 */
export function copySqliteFile(file: SqliteFile, target: string, isKept: boolean): void {
  const part = `${target}.part`;
  rmSync(part, { force: true });
  try {
    // SQLite fills an empty file that exists, and so keeps its mode.
    closeSync(openSync(part, 'wx', 0o600));
    file.query('vacuum into ?').run(part);
    // SQLite gives it the mark of the database, and older versions do not flush it.
    if (isKept) markCopy(part);
    renameSync(part, target);
  } catch (error) {
    // On a full disk, the gateway would have even less room than before.
    rmSync(part, { force: true });
    throw error;
  }
  if (isKept) flushFolder(dirname(target));
}

/**
 * One writing connection behind the group commit, and one reading connection that sees the last
 * commit. `release` unlocks the data directory when the database is closed.
 */
export function openSqlite(options: {
  dataDir: string;
  synchronous: 'FULL' | 'NORMAL';
  clock: Clock;
  bind: BindRepositories;
  logger: Logger;
  /** Nobody else serves the data directory: its lock is held. */
  exclusive?: boolean;
  release: () => void;
}): Driver {
  const writing = openSqliteFile(options.dataDir, options.synchronous);
  if (options.exclusive) claimLog(writing, options.dataDir);
  const log = options.synchronous === 'FULL' ? createLogFlush(writing) : undefined;
  writing.run(`pragma cache_size = -${CACHE_KIB}`);
  // What a savepoint may have to undo is kept in memory: beyond 64 KiB, which a few inserts reach,
  // SQLite would write it to a temporary file.
  writing.run('pragma temp_store = memory');
  const reading = openSqliteFile(options.dataDir, options.synchronous);
  reading.run('pragma query_only = on');

  const guard = createTransactionGuard();
  const snapshot = createReadSnapshot(reading, (text, params) => querySqlite(reading, text, params));
  writing.run(`pragma wal_autocheckpoint = ${LATE_CHECKPOINT_PAGES}`);
  // With a write-ahead log only the beginning of a transaction meets another one's lock, and the
  // writer waits for it without blocking the thread. Without, a commit waits for readers too.
  if (usesLog(writing)) writing.run('pragma busy_timeout = 0');
  const checkpoints = scheduleCheckpoints(writing, options);
  const writer = createGroupCommit(writing, {
    flush: log?.flush,
    beforeCommit: snapshot.end,
    afterCommit: checkpoints.noteCommit,
    pause: checkpoints.pause,
  });
  const changes = createChangeListeners(options.logger);
  const exclusive = new Set<string>();
  const leases = createMemoryLeases(options.clock);
  let scope: Scope | undefined;
  let closed = false;

  function requireOpen(): void {
    if (closed) throw storeErrors.unavailable({ message: 'The database has been closed.' });
  }

  function read(text: string, params: unknown[]): unknown[][] {
    requireOpen();
    return snapshot.read(text, params);
  }

  const root = options.bind(
    async (text, params) => {
      guard.requireOutside();
      if (READS.test(text)) return read(text, params);
      return writer.submit(async () => querySqlite(writing, text, params), false);
    },
    // A statement outside a transaction resolves after its commit.
    { leases, onCommit: (act) => act() },
  );

  let tx: Repositories | undefined;
  /** Created with the first transaction, which comes after the start. */
  const repositoriesInScope = (): Repositories => {
    tx ??= options.bind((text, params) => guard.statement(scope, () => querySqlite(writing, text, params)), {
      leases,
      onCommit: (act) => scope?.onCommit?.push(act),
    });
    return tx;
  };

  return {
    root,
    async transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T> {
      guard.requireOutside();
      const onCommit: (() => void)[] = [];
      const value = await writer.submit(() => {
        const own: Scope = { open: true, failure: undefined, onCommit };
        scope = own;
        return guard.run(own, () => work(repositoriesInScope()));
      }, true);
      for (const act of onCommit) act();
      return value;
    },
    // One process uses the database, so a set in memory is enough.
    async exclusively(name, work) {
      guard.requireOutside();
      requireOpen();
      if (exclusive.has(name)) return undefined;
      exclusive.add(name);
      try {
        return await work();
      } finally {
        exclusive.delete(name);
      }
    },
    async publish(topic) {
      changes.deliver(topic);
    },
    subscribe: changes.subscribe,
    writeFault: writer.fault,
    async ping() {
      try {
        read('select 1', []);
      } catch (error) {
        throw toStoreError(error);
      }
    },
    async close() {
      if (closed) return;
      await writer.close();
      await checkpoints.close();
      closed = true;
      snapshot.end();
      reading.close();
      writing.close();
      log?.close();
      options.release();
    },
  };
}

/**
 * drizzle passes what the columns' encoders return: strings, numbers and null. A function is the
 * clock, which is read when the statement runs: the deadlines may have moved while it was queued.
 */
export function querySqlite(file: SqliteFile, text: string, params: unknown[]): unknown[][] {
  const bound = params.map((param) => (typeof param === 'function' ? param() : param));
  return file.query(text).values(...(bound as SQLQueryBindings[])) ?? [];
}
