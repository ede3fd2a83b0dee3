import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { AppError, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { migrateStore, openStore } from '../../src/store/index.ts';
import { connectRedis, createRedisCounters } from '../../src/store/redis/index.ts';
import { makeCertificate } from '../support/make-certificate.ts';
import { type OwnPostgres, startOwnPostgres, startPgBouncer } from '../support/own-postgres.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import { runCommand, SECRETS, sourceProgram } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const settings = (databaseUrl: string, poolUrl?: string) => ({
  ...({ databaseUrl, dataDir: '', synchronous: 'FULL', clock: systemClock, logger: silentLogger } as const),
  ...(poolUrl === undefined ? {} : { poolUrl }),
});

/** What a start says, and a dry run. */
async function catchRefusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'nothing was refused';
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.message;
  }
}
const readStart = async (databaseUrl: string, poolUrl?: string): Promise<string> =>
  catchRefusal(openStore(settings(databaseUrl, poolUrl)).then((store) => store.close()));

/** Notes the limits of each transaction that changes an option. */
const NOTE_LIMITS = `
  create table seen (limits text);
  create function note_limits() returns trigger language plpgsql as $$ begin
    insert into seen values (concat_ws(' ', current_setting('statement_timeout'),
      current_setting('idle_in_transaction_session_timeout'), current_setting('lock_timeout')));
    return new; end $$;
  create trigger note_limits after insert or update on options for each row execute function note_limits();
`;

describe('PostgreSQL says why it lets nobody in, and the sentence what to do', () => {
  let server: OwnPostgres;
  let old: OwnPostgres;
  let run: (...statements: string[]) => Promise<void>;
  const folder = temporaryFolder();
  const at = (user: string, { database = 'gate', host = '127.0.0.1', query = '' } = {}): string =>
    `postgres://${user}@${host}:${server.port}/${database}${query}`;

  beforeAll(async () => {
    for (const path of [folder, process.env.TASKGATE_TEST_FOLDER]) if (path) chmodSync(path, 0o711);
    const hba = join(folder, 'pg_hba.conf');
    const rules = ['hostssl all secure all trust', 'host all locked all scram-sha-256'];
    writeFileSync(hba, [...rules, 'host all stranger,secure all reject', 'host all all all trust', ''].join('\n'));
    const expired = makeCertificate(folder, 'old', { days: -1 });
    const files = (made: { cert: string; key: string }) => ({
      cert: readFileSync(made.cert, 'utf8'),
      key: readFileSync(made.key, 'utf8'),
    });
    const good = makeCertificate(folder, 'good');
    server = await startOwnPostgres({ tls: files(good), settings: [`hba_file=${hba}`] });
    old = await startOwnPostgres({ tls: files(expired) });
    run = async (...statements) => {
      const admin = new SQL({ url: server.url, max: 1 });
      for (const statement of statements) await admin.unsafe(statement);
      await admin.close();
    };
    await run(
      ...['gate', 'closed', 'private', 'empty'].map((name) => `create database ${name}`),
      ...['secure', 'stranger', 'owner', 'reader', 'searcher'].map((name) => `create role ${name} login`),
      "create role locked login password 'right'",
      'create role group_only nologin',
      'create role limited login connection limit 0',
      'alter database closed allow_connections false',
      'revoke connect on database private from public',
      'alter role searcher set search_path = nowhere',
      'alter database gate owner to owner',
    );
    expect(await readStart(at('owner'))).toBe('nothing was refused');
  });
  afterAll(async () => {
    await server.kill();
    await old.kill();
  });

  const cases: [what: string, address: () => string, sentence: RegExp][] = [
    ['a wrong password', () => at('locked:wrong'), /rejected the sign-in\. Check the user and the password/],
    ['an unknown user', () => at('nobody'), /rejected the sign-in: it has no user with the name .* create role/],
    ['a role that may not sign in', () => at('group_only'), /it has no user with the name .* who may sign in/],
    ['an address that pg_hba.conf leaves out', () => at('stranger'), /its pg_hba\.conf does not let this user/],
    ['a user who must use TLS', () => at('secure'), /without TLS\. Write sslmode=require/],
    [
      'a database that is missing',
      () => at('owner', { database: 'none' }),
      /no database with the name in DATABASE_URL/,
    ],
    ['a database that takes nobody', () => at('owner', { database: 'closed' }), /accepts no connections\. Allow them/],
    [
      'no right to connect',
      () => at('owner', { database: 'private' }),
      /denies .* a right \(permission denied for database "private"\)\. Grant it/,
    ],
    [
      'no right to create tables',
      () => at('reader', { database: 'empty' }),
      /denies .* a right \(permission denied for schema public\)/,
    ],
    ['no right to read tables', () => at('reader'), /denies .* a right \(permission denied for table \w+\)/],
    [
      'a search_path without a schema',
      () => at('searcher', { database: 'empty' }),
      /search_path .* contains no schema/,
    ],
    ['a user at the limit of connections', () => at('limited'), /no connections left for this user or database/],
    [
      'a parameter that nobody knows',
      () => at('owner', { query: '?schema=mine' }),
      /does not know \("schema"\)\. Remove it/,
    ],
    [
      'a certificate of no known authority',
      () => at('owner', { query: '?sslmode=verify-full', host: 'localhost' }),
      /from no authority that is known here/,
    ],
    [
      'a certificate for another host',
      () => at('owner', { query: `?sslmode=verify-full&sslrootcert=${join(folder, 'good.crt')}` }),
      /is for another host name than DATABASE_URL has/,
    ],
    [
      'an expired certificate',
      () =>
        `postgres://postgres@localhost:${old.port}/postgres?sslmode=verify-full&sslrootcert=${join(folder, 'old.crt')}`,
      /certificate of PostgreSQL has expired/,
    ],
    [
      'a port where nothing listens',
      () => 'postgres://owner@127.0.0.1:1/gate',
      /cannot be reached\. Check that it is running/,
    ],
  ];
  test.each(cases)('%s', async (_, address, sentence) => {
    expect(await readStart(address())).toMatch(sentence);
  });

  test('a server without TLS', async () => {
    const plain = await startOwnPostgres();
    try {
      expect(await readStart(`${plain.url}?sslmode=require`)).toMatch(/does not speak TLS, which sslmode/);
    } finally {
      await plain.kill();
    }
  });

  test('a missing right is found by a dry run, before anything is changed', async () => {
    const dryRun = (address: string) => catchRefusal(migrateStore({ ...settings(address), dryRun: true }));
    expect(await dryRun(at('reader', { database: 'empty' }))).toBe(
      'The user reader may not create tables in the schema public. Grant it: grant create on schema "public" to "reader".',
    );
    expect(await dryRun(at('searcher', { database: 'empty' }))).toMatch(
      /search_path of the user searcher contains no schema/,
    );
    await run('alter role reader set default_transaction_read_only = on');
    expect(await dryRun(at('reader', { database: 'empty' }))).toMatch(/read-only\. DATABASE_URL must name the primary/);
    await run('alter role reader reset default_transaction_read_only');

    const admin = new SQL({ url: at('postgres'), max: 1 });
    await admin.unsafe('grant select on schema_migrations to reader');
    expect(await dryRun(at('reader'))).toMatch(
      /^The user reader may not read and write the tables api_keys, .* Run: grant select/,
    );
    await admin.unsafe('delete from schema_migrations where number > 30');
    await admin.unsafe('grant create on schema public to reader');
    expect(await dryRun(at('reader'))).toMatch(
      /^The user reader does not own the tables api_keys, .* Run: alter table NAME owner to "reader"/,
    );
    await admin.close();
  });

  test.each([
    ['refuses settings of a session', [], /points to a pooler \(PgBouncer\)/],
    [
      'drops settings of a session',
      ['ignore_startup_parameters=statement_timeout,idle_in_transaction_session_timeout'],
      /points to a pooler \(PgBouncer\)/,
    ],
  ])('DATABASE_URL names a pooler that %s', async (_, poolerSettings, sentence) => {
    const plain = await startOwnPostgres();
    const pooler = await startPgBouncer(plain, poolerSettings);
    try {
      expect(await readStart(pooler.url)).toMatch(sentence);
      expect(await readStart(plain.url, pooler.url)).toBe('nothing was refused');
    } finally {
      await pooler.stop();
      await plain.kill();
    }
  });

  test('a pooler whose transactions have the limits of a session of their own', async () => {
    const plain = await startOwnPostgres();
    const pooler = await startPgBouncer(plain);
    const admin = new SQL({ url: plain.url, max: 1 });
    try {
      const warned: string[] = [];
      const logger = { ...silentLogger, warn: (_: object, message: string) => void warned.push(message) };
      const isWarned = () => warned.some((message) => message.includes('DATABASE_POOL_URL has no limit'));
      await migrateStore(settings(plain.url));
      await admin.unsafe(NOTE_LIMITS).simple();
      for (const poolUrl of [undefined, pooler.url]) {
        const store = await openStore({ ...settings(plain.url, poolUrl), logger });
        await store.transaction((tx) => tx.options.put('SystemName', 'limited'));
        await store.close();
      }
      expect((await admin`select limits from seen`).map(({ limits }: { limits: string }) => limits)).toEqual([
        '30s 5s 7s',
        '30s 5s 7s',
      ]);
      expect(isWarned()).toBe(true);
      warned.length = 0;
      for (const limit of ["statement_timeout = '30s'", "lock_timeout = '7s'"])
        await admin.unsafe(`alter role postgres set ${limit}`);
      // The pooler still has sessions from before.
      await admin`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()`;
      await (await openStore({ ...settings(plain.url, pooler.url), logger })).close();
      expect(isWarned()).toBe(false);
    } finally {
      await admin.close();
      await pooler.stop();
      await plain.kill();
    }
  });

  test('a pooler that is full', async () => {
    const plain = await startOwnPostgres();
    const pooler = await startPgBouncer(plain, ['max_client_conn=1']);
    const holder = new SQL({ url: pooler.url, max: 1, prepare: false });
    try {
      // The check that the pooler answers leaves its only place a little later.
      await until('the holder has the only place', () =>
        holder`select 1`.then(
          () => true,
          () => false,
        ),
      );
      expect(await readStart(plain.url, pooler.url)).toMatch(/pooler before PostgreSQL has no connections left/);
    } finally {
      await holder.close();
      await pooler.stop();
      await plain.kill();
    }
  });
});

test('the variables of libpq lead no connection elsewhere than DATABASE_URL says', async () => {
  const [named, other] = [await testDatabaseUrl(), await testDatabaseUrl()];
  const { hostname, port, username, password } = new URL(named);
  const elsewhere = {
    PGDATABASE: new URL(other).pathname.slice(1),
    PGHOST: 'nowhere.invalid',
    PGPORT: '1',
    PGUSER: 'nobody',
  };
  const run = (argv: string[], env: Record<string, string>) =>
    runCommand(argv, { program: sourceProgram([]), env: { PATH: process.env.PATH ?? '', ...SECRETS, ...env } });
  const migrated = await run(['migrate'], { DATABASE_URL: named, ...elsewhere });
  expect([migrated.code, migrated.err]).toEqual([0, '']);
  const place = temporaryFolder();
  const copied = await run(['backup', 'create', '--to', place, '--without-secrets', '--json'], {
    DATABASE_URL: named,
    ...elsewhere,
  });
  expect([copied.code, copied.out]).toEqual([0, expect.stringContaining('"ok":true')]);
  expect((await run(['migrate', '--dry-run'], { DATABASE_URL: other })).out).toContain('would run: 0001_gateway');
  // They count where it says nothing.
  const filled = await run(['migrate', '--dry-run'], {
    ...{
      DATABASE_URL: `postgres://${hostname}`,
      PGPORT: port,
      PGUSER: username,
      PGPASSWORD: decodeURIComponent(password),
      PGDATABASE: new URL(named).pathname.slice(1),
    },
  });
  expect(filled.out).toContain('the database is up to date');
});

test('Redis without the database of the address counts as away, and database 0 gets nothing', async () => {
  const server = await startRedis();
  const logged: string[] = [];
  const logger = {
    ...silentLogger,
    warn: (fields: unknown, text: string) => logged.push(`${text} ${JSON.stringify(fields)}`),
  };
  const redis = connectRedis({ url: `${server.url}/99`, logger: logger as never });
  try {
    await until(() => logged.length > 0);
    expect(logged).toEqual([
      expect.stringMatching(/cannot be reached.*database of REDIS_URL cannot be used: .*index is out of range/),
    ]);
    const counters = createRedisCounters(redis);
    for (let i = 0; i < 20; i += 1) await counters.add(`elsewhere:${i}`, 1, 60);
    expect(redis.status).not.toBe('ready');
    const look = connectRedis({ url: server.url, logger: silentLogger });
    await until(() => look.status === 'ready');
    expect((await look.keys('*elsewhere*')).length).toBe(0);
    look.disconnect();
  } finally {
    redis.disconnect();
    await server.stop();
  }
});
