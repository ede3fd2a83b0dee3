import { Database as SqliteFile } from 'bun:sqlite';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { type Clock, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { createDatabase } from '../support/postgres.ts';

export type Row = Record<string, unknown>;

/** The database of one history, which outlives the processes that open it. */
export type Database = {
  readonly dialect: Store['dialect'];
  /** Opens the product's store. `clock`: of the process. */
  open(clock: Clock): Promise<Store>;
  /** Sets the server's clock, where the database has one of its own. */
  setTime(ms: number): Promise<void>;
  query(text: string): Promise<Row[]>;
  drop(): Promise<void>;
};

export type Databases = {
  /** A new copy of the prepared database. */
  create(): Promise<Database>;
  close(): Promise<void>;
};

/** In memory where the system has such a folder. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const newFolder = (): string => mkdtempSync(join(MEMORY, 'taskgate-simulation-'));

/** `prepare`: writes what every history begins with. */
export async function prepareSqlite(prepare: (store: Store) => Promise<void>): Promise<Databases> {
  // As the gateway's process has it, which moves stored deadlines when the clock is set.
  const open = (dataDir: string, clock: Clock, migrate: boolean) =>
    openStore({
      ...{ databaseUrl: '', dataDir, synchronous: 'NORMAL', clock, logger: silentLogger },
      ...{ migrate, exclusive: true },
    });
  const template = newFolder();
  const store = await open(template, systemClock, true);
  await prepare(store);
  await store.close();
  return {
    async create() {
      const folder = newFolder();
      cpSync(join(template, 'taskgate.db'), join(folder, 'taskgate.db'));
      let reader: SqliteFile | undefined;
      return {
        dialect: 'sqlite',
        open: (clock) => open(folder, clock, false),
        setTime: async () => {},
        async query(text) {
          reader ??= new SqliteFile(join(folder, 'taskgate.db'), { readonly: true });
          return reader.query(text).all() as Row[];
        },
        async drop() {
          reader?.close();
          rmSync(folder, { recursive: true, force: true });
        },
      };
    },
    close: async () => rmSync(template, { recursive: true, force: true }),
  };
}

/**
 * The server's clock is a sequence, which a function of the same name as PostgreSQL's own reads: by
 * the search path of the session it stands in all statements of the product as they are.
 */
const SIMULATED_CLOCK = `
  create schema simulated;
  create sequence simulated.ms;
  create function simulated.clock_timestamp() returns timestamptz language sql volatile as
    'select to_timestamp(last_value / 1000.0) from simulated.ms';
`;

export async function preparePostgres(prepare: (store: Store) => Promise<void>): Promise<Databases> {
  const open = (databaseUrl: string) =>
    openStore({
      databaseUrl,
      dataDir: '',
      synchronous: 'NORMAL',
      clock: systemClock,
      logger: silentLogger,
      migrate: false,
    });
  const template = await migratedDatabaseUrl();
  const store = await open(template);
  await prepare(store);
  await store.close();
  const admin = new SQL({ url: template, max: 1 });
  await admin.unsafe(SIMULATED_CLOCK).simple();
  await admin.close();
  return {
    async create() {
      const url = await createDatabase(async () => nameFor(template));
      const setting = new SQL({ url, max: 1 });
      await setting.unsafe(`alter database ${nameFor(url)} set search_path = simulated, pg_catalog, public`);
      await setting.close();
      const own = new SQL({ url, max: 1 });
      let time = 0;
      return {
        dialect: 'postgres',
        open: () => open(url),
        async setTime(ms) {
          if (ms === time) return;
          time = ms;
          await own`select setval('simulated.ms', ${ms})`;
        },
        query: async (text) => [...(await own.unsafe(text))],
        async drop() {
          await own.close();
          await dropDatabase(url);
        },
      };
    },
    close: () => dropDatabase(template),
  };
}

const nameFor = (url: string): string => new URL(url).pathname.slice(1);

async function dropDatabase(url: string): Promise<void> {
  const server = new URL(url);
  server.pathname = '/postgres';
  const admin = new SQL({ url: server.href, max: 1 });
  await admin.unsafe(`drop database if exists ${nameFor(url)} with (force)`);
  await admin.close();
}
