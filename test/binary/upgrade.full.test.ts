/**
 * A filled database with the layout before panel sessions, opened by the compiled binary: nothing
 * is lost.
 */
import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { closeSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { migrations } from '../../migrations/index.ts';
import { createRefreshTokens, formatRefreshToken } from '../../src/auth/tokens/refresh-tokens.ts';
import { deriveSessionKeys } from '../../src/auth/tokens/session-keys.ts';
import { type Backdoor, openBackdoor } from '../support/backdoor.ts';
import { freePort } from '../support/free-port.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { runBeside, SECRETS } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import {
  ask,
  type Bundle,
  expectCleared,
  expectRefusal,
  expectUntouched,
  expectWritten,
  REFRESH,
  readData,
  SESSIONS,
  unixNow,
} from './session-matrix-nodes.ts';

const PASSWORD = 'correct horse battery';
/** As earlier gateways made them: base64, and values that an owner entered by hand. */
const PATS = { root: 'q0pW+3yb/8mJH2vDk5sT7aXc9uLeR1fN', anna: 'a.token.with.dots', dora: 'b'.repeat(64) };
const API_KEY = `sk-${'k'.repeat(48)}`;
const sha256 = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex');

type OldDatabase = { dialect: 'sqlite' | 'postgres'; dataDir: string; databaseUrl: string };

const gateways: Gateway[] = [];
const backdoors: Backdoor[] = [];
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.kill();
  for (const backdoor of backdoors.splice(0)) await backdoor.close();
});

async function anOldDatabase(dialect: OldDatabase['dialect'], ...extra: string[]): Promise<OldDatabase> {
  const dataDir = temporaryFolder();
  const databaseUrl = dialect === 'postgres' ? await testDatabaseUrl() : '';
  const [first] = migrations;
  const hash = await Bun.password.hash(PASSWORD, { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 });
  const statements = [
    (dialect === 'postgres' ? first?.sql.postgres : first?.sql.sqlite) ?? '',
    'create table schema_migrations (number integer primary key not null, name text not null, applied_at bigint not null)',
    "insert into schema_migrations values (1, '0001_gateway', 77)",
    `insert into users (username, display_name, password_hash, role, status, quota, access_token, telegram_id, github_id, created_at) values
      ('root', 'The Owner', '${hash}', 100, 1, 5000, '${PATS.root}', '4711', null, 77),
      ('anna', 'Anna', '${hash}', 1, 1, 700, '${PATS.anna}', null, 'gh-1', 78),
      ('bert', 'Bert', '${hash}', 1, 1, 0, '', '', null, 79),
      ('dora', 'Dora', '${hash}', 1, 2, 0, '${PATS.dora}', null, null, 80)`,
    `insert into ledger_entries (user_id, kind, amount, grant_key, created_at) values
      (1, 'grant', 5000, 'first', 77), (2, 'grant', 700, 'second', 78)`,
    `insert into api_keys (user_id, name, key_hash, prefix, status, unlimited_quota, quota, models, allow_ips, created_at) values
      (2, 'old key', '${sha256(API_KEY)}', 'sk-kkkk', 1, ${dialect === 'postgres' ? 'true' : '1'}, 0, '[]', '[]', 77)`,
    ...extra,
  ];
  if (databaseUrl) {
    const sql = new SQL({ url: databaseUrl, max: 1 });
    for (const statement of statements) await sql.unsafe(statement);
    await sql.close();
  } else {
    const file = join(dataDir, 'taskgate.db');
    closeSync(openSync(file, 'a', 0o600));
    const database = new Database(file);
    for (const statement of statements) database.run(statement);
    database.close();
  }
  return { dialect, dataDir, databaseUrl };
}

async function start({ dataDir, databaseUrl }: OldDatabase): Promise<{ gateway: Gateway; db: Backdoor }> {
  const gateway = await startGateway({ dataDir, databaseUrl, env: SECRETS });
  gateways.push(gateway);
  const db = openBackdoor(gateway);
  backdoors.push(db);
  return { gateway, db };
}

const run = (argv: readonly string[], old: OldDatabase) => runBeside(old, argv, { env: SECRETS });

const self = (gateway: Gateway, headers: Record<string, string>) =>
  ask(gateway, '/api/user/self', { method: 'GET', headers });

/**
 * All that a start could have changed: every row of the users, and a mark that moves with every
 * change of the layout.
 */
async function readPicture({ dialect }: OldDatabase, db: Backdoor): Promise<unknown> {
  const tables = ['users', 'user_sessions', 'auth_flows', 'external_identity_claims', 'api_keys', 'ledger_entries'];
  const rows: Record<string, unknown> = {};
  for (const table of [...tables, 'schema_migrations', 'options'])
    rows[table] = await db.run(`select * from ${table} order by 1`);
  const layout =
    dialect === 'sqlite'
      ? await db.run('pragma schema_version')
      : await db.run(
          `select relname, relfilenode::text, a.attname, a.xmin::text as xmin from pg_class c join pg_attribute a on a.attrelid = c.oid
           where relnamespace = 'public'::regnamespace order by relname, a.attnum`,
        );
  return { rows, layout };
}

/** `user_sessions` as a version in between had it. */
const USER_SESSIONS = `create table user_sessions (sid varchar(64) primary key not null, user_id bigint not null,
  version bigint not null default 1, user_auth_version bigint not null, status varchar(16) not null, refresh_hash char(64) not null,
  previous_refresh_hash char(64), previous_valid_until bigint not null default 0, login_method varchar(32) not null,
  ip varchar(64) not null, user_agent text not null, created_at bigint not null, last_active_at bigint not null,
  expires_at bigint not null, revoked_at bigint not null default 0, revoked_reason varchar(64) not null default '')`;

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`upgrade of a filled ${dialect} database`, () => {
    test('personal access tokens, API keys, passwords and balances work as before; clear text is gone', async () => {
      const old = await anOldDatabase(dialect);
      const { gateway, db } = await start(old);
      expect(gateway.setupUrl).toBeUndefined();

      for (const [name, quota] of [
        ['root', 5000],
        ['anna', 700],
      ] as const) {
        for (const authorization of [`Bearer ${PATS[name]}`, PATS[name], `bearer ${PATS[name]}`]) {
          const reply = await self(gateway, { authorization });
          expect(readData<unknown>(reply)).toMatchObject({ username: name, quota });
          expectUntouched(reply);
        }
      }
      const claims = await db.run('select provider, subject, user_id from external_identity_claims order by provider');
      expect(claims.map((claim) => [claim.provider, claim.subject, Number(claim.user_id)])).toEqual([
        ['github', 'gh-1', 2],
        ['telegram', '4711', 1],
      ]);
      const users = await db.run('select access_token, auth_version from users order by id');
      expect(users.map(({ access_token }) => access_token)).toEqual([
        sha256(PATS.root),
        sha256(PATS.anna),
        null,
        sha256(PATS.dora),
      ]);
      expect(users.map(({ auth_version }) => Number(auth_version))).toEqual([1, 1, 1, 1]);
      for (const leaked of [sha256(PATS.root), sha256(''), '']) {
        expectRefusal(await self(gateway, { authorization: `Bearer ${leaked}` }), 401, 'AUTH_UNAUTHORIZED');
      }
      expectRefusal(await self(gateway, { authorization: `Bearer ${PATS.dora}` }), 401, 'AUTH_USER_DISABLED');

      const task = await ask(gateway, '/v1/tasks/task_unknown', { method: 'GET', bearer: API_KEY });
      expect(task.status).toBe(404);
      const login = await ask(gateway, '/api/user/login', { body: { username: 'ANNA', password: PASSWORD } });
      expectWritten(login);
      expect(readData<Bundle>(login).user).toMatchObject({ id: 2, quota: 700 });
      const doctor = await run(['doctor', '--json'], old);
      expect(doctor.out).not.toContain(PATS.root);
      expect(gateway.log()).not.toContain(PATS.root);
    });

    test('the old `session` cookie and the user-id header are ignored', async () => {
      const { gateway } = await start(await anOldDatabase(dialect));
      const headers = { cookie: 'session=MTcyNjA1MTIwMHxOd3dBTkVOV', 'new-api-user': '1', 'x-user-id': '1' };
      for (const path of ['/api/user/self', SESSIONS]) {
        const reply = await ask(gateway, path, { method: 'GET', headers });
        expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
        expectUntouched(reply);
      }
      const refreshed = await ask(gateway, REFRESH, { headers });
      expectRefusal(refreshed, 401, 'AUTH_UNAUTHORIZED');
      expectCleared(refreshed);
      // A client that still sends the header beside its token is the token's user.
      const asked = { ...headers, 'new-api-user': '1', authorization: `Bearer ${PATS.anna}` };
      expect(readData<unknown>(await self(gateway, asked))).toMatchObject({ username: 'anna' });
    });

    test('a second start changes nothing', async () => {
      const old = await anOldDatabase(dialect, USER_SESSIONS);
      const first = await start(old);
      expect(await first.gateway.stop()).toBe(0);
      const before = await readPicture(old, first.db);
      const second = await start(old);
      expect(readData<unknown>(await self(second.gateway, { authorization: PATS.anna }))).toMatchObject({ id: 2 });
      expect(await second.gateway.stop()).toBe(0);
      expect(await readPicture(old, second.db)).toEqual(before);
      expect(await run(['migrate', '--dry-run', '--json'], old)).toMatchObject({ code: 0 });
      expect(await run(['migrate'], old)).toMatchObject({ code: 0 });
      expect(await readPicture(old, second.db)).toEqual(before);
    });

    test('sessions with char(64) digests stay valid: current and previous token, padded or empty', async () => {
      const now = unixNow();
      const tokens = createRefreshTokens(deriveSessionKeys([SECRETS.SESSION_SECRET]));
      const [current, rotated, blank] = [tokens.create(), tokens.create(), tokens.create()];
      const successor = tokens.successor(rotated);
      const insert = (sid: string, hash: string, previous: string) =>
        `insert into user_sessions (sid, user_id, user_auth_version, status, refresh_hash, previous_refresh_hash, previous_valid_until,
          login_method, ip, user_agent, created_at, last_active_at, expires_at) values
          ('${sid}', 2, 1, 'active', '${hash}', ${previous}, ${now + 60}, 'password', '', '', ${now - 60}, ${now - 60}, ${now + 86_400})`;
      // SQLite does not pad fixed-width columns: an earlier program may have stored a digest with
      // blanks behind it.
      const padding = dialect === 'sqlite' ? '   ' : '';
      const old = await anOldDatabase(
        dialect,
        USER_SESSIONS,
        insert(current.sid, current.hash, 'null'),
        insert(rotated.sid, successor.hash, `'${rotated.hash}${padding}'`),
        insert(blank.sid, blank.hash, "''"),
      );
      const { gateway, db } = await start(old);
      if (dialect === 'postgres') {
        const [column] = await db.run(
          `select data_type, character_maximum_length as width from information_schema.columns
           where table_name = 'user_sessions' and column_name = 'previous_refresh_hash'`,
        );
        expect(column).toEqual({ data_type: 'character varying', width: 64 });
      }
      const lengths = await db.run(
        'select length(previous_refresh_hash) as n from user_sessions where previous_refresh_hash is not null order by n',
      );
      expect(lengths.map(({ n }) => Number(n))).toEqual([0, 64]);

      const replayed = await ask(gateway, REFRESH, { refresh: formatRefreshToken(rotated) });
      expect(expectWritten(replayed)).toBe(formatRefreshToken(successor));
      for (const token of [current, successor, blank]) {
        const reply = await ask(gateway, REFRESH, { refresh: formatRefreshToken(token), sid: token.sid });
        expect(expectWritten(reply)).toBe(formatRefreshToken(tokens.successor(token)));
        expect(readData<Bundle>(reply).session.expires_at).toBe(now + 86_400);
      }
    });

    test('a Telegram id of two users refuses the start: exit 1, with the reason, and nothing is changed', async () => {
      const old = await anOldDatabase(dialect, "update users set telegram_id = '4711' where username = 'bert'");
      for (const argv of [['serve', '--port', String(await freePort())], ['migrate']]) {
        const { code, out, err } = await run(argv, old);
        expect([argv[0], code, out]).toEqual([argv[0], 1, '']);
        expect(err).toContain('4711 (users root, bert)');
        expect(err).toContain('Clear telegram_id of all but one user each, then start again.');
        expect(err).toContain('nothing was changed');
        expect(err).not.toMatch(/^\s+at /m);
        expect(err).not.toContain(PATS.root);
      }
      const db = openBackdoor(old);
      backdoors.push(db);
      expect(await db.run('select number from schema_migrations')).toEqual([{ number: 1 }]);
      expect((await db.run('select access_token from users order by id'))[0]).toEqual({ access_token: PATS.root });

      await db.run("update users set telegram_id = null where username = 'bert'");
      const { gateway } = await start(old);
      expect(readData<unknown>(await self(gateway, { authorization: PATS.root }))).toMatchObject({ id: 1 });
      if (dialect === 'sqlite') {
        const copies = readdirSync(old.dataDir).filter((name) => name.includes('.before-'));
        expect(copies).toEqual(['taskgate.db.before-0002_panel_sessions']);
      }
    });
  });
}

test('two nodes that start on an old PostgreSQL database at once both serve it', async () => {
  const old = await anOldDatabase('postgres');
  const nodes = await Promise.all([start(old), start({ ...old, dataDir: temporaryFolder() })]);
  for (const { gateway } of nodes)
    expect(readData<unknown>(await self(gateway, { authorization: PATS.anna }))).toMatchObject({ username: 'anna' });
  const applied = await nodes[0]?.db.run('select number from schema_migrations order by number');
  expect(applied?.map(({ number }) => number)).toEqual(migrations.map(({ number }) => number));
});
