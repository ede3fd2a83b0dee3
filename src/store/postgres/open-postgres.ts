/** Connections to PostgreSQL: how many, their deadlines, and what fails while the server hangs. */
import type { SQL } from 'bun';
import { AppError, type Clock, jitter, type Logger, newUuid } from '../../kernel/index.ts';
import type { BindRepositories, Driver } from '../drivers/connection.ts';
import { createChangeListeners } from '../drivers/connection.ts';
import { isRetryable, nameAddress, storeErrors, toStoreError } from '../drivers/errors.ts';
import { createTransactionGuard, type Scope } from '../drivers/guard-transactions.ts';
import { POOLED_ADDRESS } from '../drivers/postgres-reasons.ts';
import type { ChangeTopic, Repositories } from '../ports/index.ts';
import { applicationName, readConnectTimeout, readDatabaseName } from './postgres-address.ts';
import { runExclusively } from './run-exclusively.ts';
import { createStallWatch } from './watch-stall.ts';

/** Connections per node. PostgreSQL allows 100 by default, so five nodes fit. */
const MAX_CONNECTIONS = 16;
const CONNECT_TIMEOUT_S = 5;
/**
 * Statements take milliseconds. One that takes this long is stuck; failing it frees the connection.
 */
const STATEMENT_TIMEOUT_MS = 30_000;
/**
 * The server ends a transaction that has been idle for this long: its locks would block all others.
 * A node gives up its own transactions sooner.
 */
const IDLE_TRANSACTION_MS = 5000;
/**
 * A statement that waits longer for a row fails, while its transaction could still end: others that
 * share the transaction do not want that row. The rows of a node that went silent are free before.
 */
const LOCK_TIMEOUT_MS = IDLE_TRANSACTION_MS + 2000;
/**
 * A transaction may take ten seconds and wait for one statement. A call that takes longer than both
 * waits on a dead connection.
 */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 15_000;
const WATCH_MS = 1000;
/** Tries of a transaction that PostgreSQL aborts for a deadlock or a serialization failure. */
const MAX_TRIES = 4;
const CHANNEL = 'taskgate_changes';
const TOPICS: readonly string[] = ['plugins', 'channels', 'prices', 'options', 'capacity'] satisfies ChangeTopic[];

/**
 * Repositories for one transaction at a time. Their prepared queries are built once and serve every
 * later transaction.
 */
type Slot = { repositories: Repositories; open: OpenTransaction | undefined; scope: Scope | undefined };

/**
 * A transaction on its connection. `begun` settles with the answer to its `begin`. `ended`: its
 * work is over, and what it left behind must not reach the connection.
 */
type OpenTransaction = { client: SQL; begun: Promise<unknown>; ended: boolean };

/** Statements that only read and may lock: harmless without an answer, or outside a transaction. */
const READS = /^\s*select\b/i;

/** `giveUp`: fails what waits for the answer, if it may be asked again. */
type Call = { sinceMs: number; giveUp?: (error: AppError) => void };
/** A connection pool, and its calls without an answer, the oldest first. */
type Pool = { sql: SQL; calls: Set<Call> };

const DEADLINES = {
  connectSeconds: CONNECT_TIMEOUT_S,
  statementMs: STATEMENT_TIMEOUT_MS,
  idleTransactionMs: IDLE_TRANSACTION_MS,
  /** 0: none. */
  lockMs: 0,
};
/** Nobody waits for such a reader, and it may get no CPU time for long. 0: no deadline. */
export const READER_DEADLINES: typeof DEADLINES = {
  connectSeconds: 60,
  statementMs: 0,
  idleTransactionMs: 0,
  lockMs: 0,
};

/** `Bun.SQL`: an import would load the client at each start on SQLite too. */
export function connectPostgres(databaseUrl: string, max: number, deadlines = DEADLINES): SQL {
  return new Bun.SQL({
    url: databaseUrl,
    database: readDatabaseName(databaseUrl),
    max,
    connectionTimeout: readConnectTimeout(databaseUrl) ?? deadlines.connectSeconds,
    connection: {
      application_name: applicationName(databaseUrl),
      statement_timeout: `${deadlines.statementMs}`,
      idle_in_transaction_session_timeout: `${deadlines.idleTransactionMs}`,
      lock_timeout: `${deadlines.lockMs}`,
    },
  });
}

/** Runs `work` over one connection of its own. */
export async function withConnection<T>(
  databaseUrl: string,
  work: (sql: SQL) => Promise<T>,
  deadlines?: typeof DEADLINES,
): Promise<T> {
  const sql = connectPostgres(databaseUrl, 1, deadlines);
  try {
    return await work(sql);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await sql.close();
  }
}

/**
 * Connections to a pooler, which gives each transaction another session of the server: no statement
 * stays prepared, and settings of a session cannot be sent. Each transaction sets its own.
 */
function connectPooled(poolUrl: string): SQL {
  return new Bun.SQL({
    url: poolUrl,
    database: readDatabaseName(poolUrl),
    max: MAX_CONNECTIONS,
    connectionTimeout: readConnectTimeout(poolUrl) ?? CONNECT_TIMEOUT_S,
    prepare: false,
    connection: { application_name: applicationName(poolUrl) },
  });
}

/** One message begins a transaction and gives it the limits that a session would have. */
const BEGIN_POOLED = [
  'begin',
  `set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
  `set local idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS}`,
  `set local lock_timeout = ${LOCK_TIMEOUT_MS}`,
].join('; ');

export async function openPostgres(options: {
  databaseUrl: string;
  /** A pooler in front of the same database. What needs a session goes around it. */
  poolUrl?: string;
  bind: BindRepositories;
  clock: Clock;
  logger: Logger;
}): Promise<Driver> {
  const { clock } = options;
  const connectSeconds = readConnectTimeout(options.poolUrl || options.databaseUrl);
  const connect = () =>
    options.poolUrl
      ? connectPooled(options.poolUrl)
      : connectPostgres(options.databaseUrl, MAX_CONNECTIONS, { ...DEADLINES, lockMs: LOCK_TIMEOUT_MS });
  const openPool = (): Pool => ({ sql: connect(), calls: new Set() });
  let pool = openPool();
  // Not from the pool, so that it outlives one.
  const listener = connectPostgres(options.databaseUrl, 1);
  const stopping = new AbortController();
  const guard = createTransactionGuard();
  const changes = createChangeListeners(options.logger);
  const node = newUuid();
  const free: Slot[] = [];
  const hangs = () => storeErrors.unavailable({ retryAfterSeconds: 5 });
  const stall = createStallWatch({
    ...{ connect, clock, logger: options.logger, signal: stopping.signal },
    ...(connectSeconds === undefined ? {} : { silentMs: connectSeconds * 1000 }),
    // Others that wait for them would wait as long. What may write is waited for as before: nobody
    // knows whether it was done.
    onStall() {
      for (const { giveUp } of pool.calls) giveUp?.(hangs());
    },
  });

  /**
   * Every use of the pool goes through here, so that `watch` finds calls that are not answered in
   * time. What only reads fails when it is known that the server hangs.
   */
  async function call<T>(work: (sql: SQL) => Promise<T>, { isRead = false } = {}): Promise<T> {
    if (stall.isStalled()) throw hangs();
    const { sql, calls } = pool;
    const entry: Call = { sinceMs: clock.monotonicMs() };
    calls.add(entry);
    const answer = async () => {
      try {
        return await work(sql);
      } catch (error) {
        throw options.poolUrl ? nameAddress(error, 'DATABASE_POOL_URL') : error;
      } finally {
        calls.delete(entry);
      }
    };
    if (!isRead) return answer();
    return new Promise((resolve, reject) => {
      entry.giveUp = reject;
      answer().then(resolve, reject);
    });
  }

  /**
   * A server or a firewall on the way may vanish without closing connections, and no driver timeout
   * covers a query that was sent. Then this opens a new pool, and the calls pending on the old one
   * fail.
   */
  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(WATCH_MS, stopping.signal);
      const [oldest] = pool.calls;
      if (stopping.signal.aborted || !oldest) continue;
      const ageMs = clock.monotonicMs() - oldest.sinceMs;
      stall.look(ageMs);
      if (ageMs < ANSWER_TIMEOUT_MS) continue;
      options.logger.warn({ seconds: ANSWER_TIMEOUT_MS / 1000 }, 'PostgreSQL did not answer; opening new connections');
      const { sql } = pool;
      pool = openPool();
      void sql.close({ timeout: CONNECT_TIMEOUT_S }).catch(() => undefined);
    }
  }

  const root = options.bind(
    async (text, params) => {
      guard.requireOutside();
      return call((sql) => rows(sql, text, params), { isRead: READS.test(text) });
    },
    undefined,
    guard.requireOutside,
  );

  function createSlot(): Slot {
    const repositories = options.bind((text, params) =>
      guard.statement(slot.scope, () => runInside(slot.open as OpenTransaction, text, params)),
    );
    const slot: Slot = { repositories, open: undefined, scope: undefined };
    return slot;
  }

  async function runOnce<T>(scope: Scope, work: (tx: Repositories) => Promise<T>): Promise<T> {
    let committing = false;
    const run = async (client: SQL): Promise<T> => {
      const slot = free.pop() ?? createSlot();
      // Sent together with a first statement that reads. A text of no parameters that is a template
      // is prepared by name as all others are.
      const begun = options.poolUrl ? client.unsafe(BEGIN_POOLED).simple().execute() : client`begin`.execute();
      begun.catch(() => undefined);
      const open: OpenTransaction = { client, begun, ended: false };
      slot.open = open;
      slot.scope = scope;
      try {
        const value = await guard.run(scope, () => work(slot.repositories));
        await begun;
        open.ended = true;
        committing = true;
        const { command } = await client`commit`;
        if (command !== 'COMMIT') throw storeErrors.broken_invariant({ message: `A commit ended as ${command}.` });
        return value;
      } catch (error) {
        open.ended = true;
        // After a lost connection there is nothing to take back.
        await client`rollback`.catch(() => undefined);
        throw error;
      } finally {
        slot.open = undefined;
        slot.scope = undefined;
        free.push(slot);
      }
    };
    try {
      return await call(async (sql) => {
        const client = await sql.reserve();
        try {
          return await run(client);
        } finally {
          client.release();
        }
      });
    } catch (error) {
      throw committing ? commitError(error) : error;
    }
  }

  /**
   * Two connections that are open at once never have one session of the server, unless a pooler
   * lends it to each in turn.
   */
  async function requireOwnSessions(): Promise<void> {
    const session = async (sql: SQL) => (await rows(sql, 'select pg_backend_pid()', []))[0]?.[0];
    if ((await session(listener)) === (await call(session))) throw storeErrors.unavailable({ message: POOLED_ADDRESS });
  }

  /** Statements outside of transactions have the limits of the role behind a pooler. */
  async function warnOfMissingLimits(): Promise<void> {
    if (!options.poolUrl) return;
    const names = ['statement_timeout', 'lock_timeout'];
    const query = names.map((name) => `select '${name}', current_setting('${name}')`).join(' union all ');
    const found = await call((sql) => rows(sql, query, []));
    const missing = found.filter(([, value]) => value === '0').map(([name]) => name);
    if (missing.length > 0)
      options.logger.warn(
        { settings: missing },
        'the role of DATABASE_POOL_URL has no limit of time for single statements; set it with "alter role" as docs/operating/several-nodes.md says',
      );
  }

  function onNotification(payload: string): void {
    const [from, topic = ''] = payload.split(' ');
    if (from !== node && TOPICS.includes(topic)) changes.deliver(topic as ChangeTopic);
  }

  async function withinDeadline<T>(answer: Promise<T>): Promise<T> {
    const answered = new AbortController();
    const timeout = clock
      .sleep((connectSeconds ?? CONNECT_TIMEOUT_S) * 1000, answered.signal)
      .then(() => Promise.reject(storeErrors.unavailable()));
    try {
      return await Promise.race([answer, timeout]);
    } finally {
      answered.abort();
    }
  }

  let listening: { unlisten(): Promise<void> };
  try {
    listening = await listener.listen(CHANNEL, onNotification);
    await requireOwnSessions();
    await warnOfMissingLimits();
  } catch (error) {
    await Promise.all([pool.sql.close(), listener.close()]);
    throw toStoreError(error);
  }
  void watch();

  return {
    root,

    async transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T> {
      guard.requireOutside();
      for (let attempt = 1; ; attempt += 1) {
        const scope: Scope = { open: true, failure: undefined };
        try {
          return await runOnce(scope, work);
        } catch (error) {
          // `work` may have wrapped the statement's error, so the error of the statement decides.
          if (!isRetryable(scope.failure ?? error) || attempt === MAX_TRIES) throw error;
          await clock.sleep(jitter(10 * 2 ** attempt, 0.5));
        }
      }
    },

    // Best effort: a node that misses a notification reads everything again after SYNC_FREQUENCY.
    async publish(topic) {
      changes.deliver(topic);
      try {
        await call((sql) => sql.notify(CHANNEL, `${node} ${topic}`));
      } catch (error) {
        options.logger.warn(
          { err: toStoreError(error), topic },
          'a change could not be published to other nodes; they read it within SYNC_FREQUENCY',
        );
      }
    },

    subscribe: changes.subscribe,

    async exclusively(name, work) {
      guard.requireOutside();
      if (stopping.signal.aborted) throw storeErrors.unavailable({ message: 'The database has been closed.' });
      return runExclusively({ connection: connectPostgres(options.databaseUrl, 1), withinDeadline, name }, work);
    },

    async ping() {
      try {
        await withinDeadline(call((sql) => rows(sql, 'select 1', [])));
      } catch (error) {
        throw toStoreError(error);
      }
    },

    async close() {
      stopping.abort();
      await withinDeadline(listening.unlisten()).catch(() => undefined);
      await Promise.all([listener.close({ timeout: 0 }), pool.sql.close({ timeout: CONNECT_TIMEOUT_S })]);
    },
  };
}

/** Distinguishes the server's refusal of a commit from a lost answer. */
function commitError(thrown: unknown): unknown {
  const error = isRetryable(thrown) ? thrown : toStoreError(thrown);
  const isLost = error instanceof AppError && error.code === storeErrors.unavailable().code;
  return isLost ? storeErrors.outcome_unknown({ cause: error.cause }) : thrown;
}

/**
 * Runs a statement of a transaction. What writes waits for the answer to `begin`, without which it
 * would be stored at once and alone.
 */
async function runInside(open: OpenTransaction, text: string, params: unknown[]): Promise<unknown[][]> {
  if (!READS.test(text)) await open.begun;
  // Another statement may have failed before: after the rollback this one would be stored.
  if (open.ended) throw storeErrors.misused({ message: 'A transaction ended before its statement was sent.' });
  const [, found] = await Promise.all([open.begun, rows(open.client, text, params)]);
  return found;
}

async function rows(client: SQL, text: string, params: unknown[]): Promise<unknown[][]> {
  return (await client.unsafe(text, params).values()) as unknown[][];
}
