import { SQL } from 'bun';
import { type Clock, jitter, type Logger, newUuid } from '../../kernel/index.ts';
import { isRetryable, storeErrors, toStoreError } from '../errors.ts';
import type { ChangeTopic, Repositories } from '../ports/index.ts';
import type { BindRepositories, Driver } from './connection.ts';
import { createChangeListeners } from './deliver-changes.ts';
import { createTransactionGuard, type Scope } from './guard-transactions.ts';
import { runExclusively } from './run-exclusively.ts';

/** Connections a node; PostgreSQL allows 100 by default, so that five nodes fit. */
const MAX_CONNECTIONS = 16;
const CONNECT_TIMEOUT_S = 5;
/** Statements take milliseconds; one that takes this long is stuck, and its failure frees the connection. */
const STATEMENT_TIMEOUT_MS = 30_000;
/** Tries of a transaction that PostgreSQL gave up on for a deadlock or a serialization failure. */
const MAX_TRIES = 4;
const CHANNEL = 'taskgate_changes';
const TOPICS: readonly string[] = ['plugins', 'channels', 'prices', 'options'] satisfies ChangeTopic[];

/** Repositories for one transaction at a time; their prepared queries are built once and serve every later transaction. */
type Slot = { repositories: Repositories; client: SQL | undefined; scope: Scope | undefined };

export function connectPostgres(databaseUrl: string, max: number): SQL {
  return new SQL({
    url: databaseUrl,
    max,
    connectionTimeout: CONNECT_TIMEOUT_S,
    connection: { application_name: 'taskgate', statement_timeout: `${STATEMENT_TIMEOUT_MS}` },
  });
}

export async function openPostgres(options: {
  databaseUrl: string;
  bind: BindRepositories;
  clock: Clock;
  logger: Logger;
}): Promise<Driver> {
  const pool = connectPostgres(options.databaseUrl, MAX_CONNECTIONS);
  const guard = createTransactionGuard();
  const changes = createChangeListeners(options.logger);
  const node = newUuid();
  const free: Slot[] = [];
  let closed = false;

  const root = options.bind(async (text, params) => {
    guard.requireOutside();
    return rows(pool, text, params);
  });

  function createSlot(): Slot {
    const repositories = options.bind((text, params) =>
      guard.statement(slot.scope, () => rows(slot.client as SQL, text, params)),
    );
    const slot: Slot = { repositories, client: undefined, scope: undefined };
    return slot;
  }

  const runOnce = <T>(scope: Scope, work: (tx: Repositories) => Promise<T>): Promise<T> =>
    pool.begin(async (client) => {
      const slot = free.pop() ?? createSlot();
      slot.client = client;
      slot.scope = scope;
      try {
        return await guard.run(scope, () => work(slot.repositories));
      } finally {
        slot.client = undefined;
        slot.scope = undefined;
        free.push(slot);
      }
    }) as Promise<T>;

  function hear(payload: string): void {
    const [from, topic = ''] = payload.split(' ');
    if (from !== node && TOPICS.includes(topic)) changes.deliver(topic as ChangeTopic);
  }

  async function inTime<T>(answer: Promise<T>): Promise<T> {
    const answered = new AbortController();
    const late = options.clock
      .sleep(CONNECT_TIMEOUT_S * 1000, answered.signal)
      .then(() => Promise.reject(storeErrors.unavailable()));
    try {
      return await Promise.race([answer, late]);
    } finally {
      answered.abort();
    }
  }

  let listening: { unlisten(): Promise<void> };
  try {
    listening = await pool.listen(CHANNEL, hear);
  } catch (error) {
    await pool.close();
    throw toStoreError(error);
  }

  return {
    root,

    async transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T> {
      guard.requireOutside();
      for (let attempt = 1; ; attempt += 1) {
        const scope: Scope = { open: true, failure: undefined };
        try {
          return await runOnce(scope, work);
        } catch (error) {
          // The statement's own error says it; what the work made of it does not.
          if (!isRetryable(scope.failure ?? error) || attempt === MAX_TRIES) throw error;
          await options.clock.sleep(jitter(10 * 2 ** attempt, 0.5));
        }
      }
    },

    // Best effort: a node that misses a notice reads everything again after SYNC_FREQUENCY.
    async publish(topic) {
      changes.deliver(topic);
      try {
        await pool.notify(CHANNEL, `${node} ${topic}`);
      } catch (error) {
        options.logger.warn({ err: toStoreError(error), topic }, 'other nodes could not be told of a change');
      }
    },

    subscribe: changes.subscribe,

    async exclusively(name, work) {
      guard.requireOutside();
      if (closed) throw storeErrors.unavailable({ message: 'The database has been closed.' });
      return runExclusively(connectPostgres(options.databaseUrl, 1), inTime, name, work);
    },

    async ping() {
      try {
        await inTime(rows(pool, 'select 1', []));
      } catch (error) {
        throw toStoreError(error);
      }
    },

    async close() {
      closed = true;
      await listening.unlisten().catch(() => undefined);
      await pool.close({ timeout: CONNECT_TIMEOUT_S });
    },
  };
}

async function rows(client: SQL, text: string, params: unknown[]): Promise<unknown[][]> {
  return (await client.unsafe(text, params).values()) as unknown[][];
}
