/**
 * What the compiled binary does with existing sessions when it starts: what it keeps, deletes and
 * logs.
 */
import { afterEach, expect, test } from 'bun:test';
import { type Backdoor, openBackdoor } from '../support/backdoor.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import {
  addUser,
  ask,
  expectCleared,
  expectRefusal,
  expectWritten,
  opens,
  REFRESH,
  readRow,
  signIn,
  unixNow,
} from './session-matrix-nodes.ts';

const DAY = 86_400;
const gateways: Gateway[] = [];
let db: Backdoor | undefined;
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.kill();
  await db?.close();
  db = undefined;
});

test.each(RULE_DATABASES)(
  'on %s the window is clamped, ended sessions and flows are deleted, those that still count stay, and an alert refuses nobody',
  async (dialect) => {
    const databaseUrl = dialect === 'postgres' ? await migratedDatabaseUrl() : '';
    // A worker leaves the rows alone until they are all written.
    const first = await startGateway({ databaseUrl, env: { NODE_ROLE: 'worker' } });
    gateways.push(first);
    await setUp(first);
    db = openBackdoor(first);
    const user = await addUser(db);
    const now = unixNow();
    const rows: [
      name: string,
      stays: boolean,
      status: string,
      createdAt: number,
      expiresAt: number,
      revokedAt: number,
    ][] = [
      ['active', true, 'active', now - 20 * DAY, now + DAY, 0],
      ['expired-before-the-window', false, 'active', now - 3 * DAY, now - DAY, 0],
      ['expired-within-the-window', true, 'active', now - 1.5 * DAY, now - DAY, 0],
      ['revoked-past-retention', false, 'revoked', now - 20 * DAY, now + DAY, now - 3 * DAY],
      ['revoked-within-retention', true, 'revoked', now - 20 * DAY, now + DAY, now - DAY],
      ['expired-and-revoked-within-retention', true, 'revoked', now - 20 * DAY, now - DAY, now - DAY],
      ['expired-and-revoked-past-retention', false, 'revoked', now - 20 * DAY, now - DAY, now - 3 * DAY],
      ['recent-1', true, 'active', now - 60, now + DAY, 0],
      ['recent-2', true, 'revoked', now - 60, now + DAY, now - 30],
    ];
    const sessions = rows.map(
      ([name, , status, created, expires, revoked]) =>
        `('${name}', ${user.id}, 1, '${status}', '${'h'.repeat(64)}', 'password', '', '', ${created}, ${created}, ${expires}, ${revoked})`,
    );
    await db.run(
      `insert into user_sessions (sid, user_id, user_auth_version, status, refresh_hash, login_method, ip, user_agent, created_at,
       last_active_at, expires_at, revoked_at) values ${sessions.join(', ')}`,
    );
    await db.run(
      `insert into auth_flows (token_hash, purpose, created_at, expires_at, consumed_at) values
       ('open', 'oauth', ${now}, ${now + 600}, null), ('lately-expired', 'oauth', ${now - DAY}, ${now - 3600}, null),
       ('lately-used', 'oauth', ${now - 3600}, ${now - 3000}, ${now - 3500}), ('long-expired', 'oauth', 1, ${now - 2 * DAY}, null),
       ('long-used', 'oauth', 1, ${now - 2 * DAY}, ${now - 2 * DAY})`,
    );
    const kept = async () => (await db?.run('select sid from user_sessions order by sid'))?.map(({ sid }) => sid) ?? [];
    expect(await kept()).toEqual(expect.arrayContaining(rows.map(([name]) => name)));
    expect(await first.stop()).toBe(0);

    const second = await startGateway({
      databaseUrl,
      dataDir: first.dataDir,
      env: {
        USER_SESSION_ISSUANCE_WINDOW_SECONDS: `${30 * DAY}`,
        USER_SESSION_REVOKED_RETENTION_DAYS: '2',
        USER_SESSION_HOURLY_ALERT_THRESHOLD: '2',
        USER_SESSION_ACTIVE_LIMIT: 'many',
      },
    });
    gateways.push(second);
    await second.logged('old rows were cleaned up');
    const staying = rows.filter(([, stays]) => stays).map(([name]) => name);
    // Root's own session of the set-up is there too.
    expect((await kept()).filter((sid) => rows.some(([name]) => name === sid)).sort()).toEqual(staying.sort());
    const flows = await db.run('select token_hash from auth_flows order by token_hash');
    expect(flows.map(({ token_hash }) => token_hash)).toEqual(['lately-expired', 'lately-used', 'open']);

    for (const said of [
      `USER_SESSION_ISSUANCE_WINDOW_SECONDS is ${30 * DAY}, longer than ended sessions are kept. ${2 * DAY} is used instead.`,
      'USER_SESSION_ACTIVE_LIMIT is \\"many\\"',
      '50 is used instead',
      'unusually many sessions were opened within an hour',
    ]) {
      await second.logged(said);
    }
    await signIn(second, user);
  },
);

test('another SESSION_SECRET ends all sign-ins and no row; named as the previous one, it keeps them', async () => {
  const before = { SESSION_SECRET: 'the-session-secret-of-yesterday-0123' };
  const after = { SESSION_SECRET: 'the-session-secret-of-today-01234567' };
  const start = async (env: Record<string, string>, dataDir?: string): Promise<Gateway> => {
    const gateway = await startGateway({ env, ...(dataDir === undefined ? {} : { dataDir }) });
    gateways.push(gateway);
    return gateway;
  };
  const first = await start(before);
  await setUp(first);
  db = openBackdoor(first);
  const session = await signIn(first, await addUser(db));
  const row = await readRow(db, session.sid);
  expect(await first.stop()).toBe(0);

  const changed = await start(after, first.dataDir);
  const self = await ask(changed, '/api/user/self', { method: 'GET', bearer: session.access });
  expectRefusal(self, 401, 'AUTH_UNAUTHORIZED');
  const refused = await ask(changed, REFRESH, { refresh: session.refresh });
  expectRefusal(refused, 401, 'AUTH_UNAUTHORIZED');
  expectCleared(refused);
  expect(await readRow(db, session.sid)).toEqual(row);
  expect(await changed.stop()).toBe(0);

  const rotating = await start({ ...after, SESSION_SECRET_PREVIOUS: before.SESSION_SECRET }, first.dataDir);
  expect(await opens(rotating, session)).toBe(true);
  const refreshed = expectWritten(await ask(rotating, REFRESH, { refresh: session.refresh }));
  expect(expectWritten(await ask(rotating, REFRESH, { refresh: session.refresh }))).toBe(refreshed);
  expect(await rotating.stop()).toBe(0);

  const rotated = await start(after, first.dataDir);
  expectWritten(await ask(rotated, REFRESH, { refresh: refreshed }));
  const old = await ask(rotated, '/api/user/self', { method: 'GET', bearer: session.access });
  expectRefusal(old, 401, 'AUTH_UNAUTHORIZED');
});
