import { Database as SqliteFile } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrations, newSqliteDatabase } from '../../migrations/index.ts';
import { printNewDatabase } from '../../scripts/print-new-database.ts';
import { sha256Hex } from '../../src/kernel/index.ts';
import { migrateStore, openStore } from '../../src/store/index.ts';
import { openRaw, type Raw } from '../contract/open-raw.ts';
import { addOldUser, anOldDatabase, createConcurrencyLimit, type Setup } from './old-database.ts';

const places = createConcurrencyLimit();
afterAll(places.clear);
const { setUp } = places;

const versions = migrations.map(({ name }) => name);

/**
 * What any change of the layout changes: SQLite's counter, or the rows of PostgreSQL's catalogue
 * with who wrote them.
 */
const layoutMark = (raw: Raw, { databaseUrl }: Setup): Promise<Record<string, unknown>[]> =>
  raw.rows(
    databaseUrl
      ? `select c.relname, c.oid, c.relfilenode, c.xmin::text as made, a.attname, a.xmin::text as changed
          from pg_class c left join pg_attribute a on a.attrelid = c.oid
          where c.relnamespace = 'public'::regnamespace order by c.relname, a.attname`
      : 'select schema_version from pragma_schema_version',
  );

for (const dialect of ['sqlite', 'postgres'] as const) {
  test(`${dialect}: an empty database gets every migration, then none; a dry run only names them`, async () => {
    const setup = await setUp(dialect);
    expect(await migrateStore({ ...setup, dryRun: true })).toEqual(versions);
    expect(await migrateStore({ ...setup, dryRun: true })).toEqual(versions);
    if (dialect === 'sqlite') expect(readdirSync(setup.dataDir)).toEqual([]);
    await expect(openStore({ ...setup, migrate: false })).rejects.toMatchObject({ code: 'store.schema_outdated' });
    expect(await migrateStore(setup)).toEqual(versions);
    expect(await migrateStore(setup)).toEqual([]);
    expect(await migrateStore({ ...setup, dryRun: true })).toEqual([]);
    const store = await openStore({ ...setup, migrate: false });
    // Nobody has anything to lose yet: old content is removed after its days.
    expect(await store.options.get('retention.enabled')).toBeUndefined();
    await store.close();
  });

  test(`${dialect}: a filled database of the earlier layout keeps everything and gains what sessions need`, async () => {
    const setup = await setUp(dialect);
    const pat = 'clear-text-access-token-of-an-older-gateway';
    await anOldDatabase(setup, 1, [
      addOldUser('anna', { access_token: pat, telegram_id: '4711', github_id: 'gh-1', quota: '5000' }),
      addOldUser('bert', { access_token: '', telegram_id: '', github_id: 'gh-1' }),
      addOldUser('carl', { oidc_id: 'sub-3' }),
      `insert into ledger_entries (user_id, kind, amount, grant_key, created_at) values (1, 'grant', 5000, 'g', 77)`,
    ]);
    expect(await migrateStore({ ...setup, dryRun: true })).toEqual(versions.slice(1));
    const store = await openStore(setup);
    expect(await store.users.byNameOrAddress('ANNA')).toMatchObject({ authVersion: 1, linkVersion: 0, quota: 5000 });
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
    expect(await store.users.byAccessToken(sha256Hex(pat))).toMatchObject({ id: 1, username: 'anna' });
    expect(await store.users.byAccessToken(pat)).toBeUndefined();
    expect(await store.users.findAccessToken(1)).toEqual({ prefix: '', createdAt: 0 });
    expect(await store.users.findAccessToken(2)).toBeUndefined();
    expect(await store.identities.list(1)).toEqual([
      { provider: 'github', subject: 'gh-1', userId: 1, createdAt: 77 },
      { provider: 'telegram', subject: '4711', userId: 1, createdAt: 77 },
    ]);
    expect(await store.twoFactor.byUser(1)).toBeUndefined();
    expect(await store.options.get('retention.enabled')).toBe('false');
    await store.close();

    const raw = openRaw(setup);
    const tokens = await raw.rows('select username, access_token from users order by id');
    expect(tokens.map(({ access_token }) => access_token)).toEqual([sha256Hex(pat), null, null]);
    const claims = await raw.rows('select provider, subject, user_id from external_identity_claims order by provider');
    expect(claims.map((row) => [row.provider, row.subject, Number(row.user_id)])).toEqual([
      ['github', 'gh-1', 1],
      ['oidc', 'sub-3', 3],
      ['telegram', '4711', 1],
    ]);
    await raw.close();
  });

  test(`${dialect}: sessions of a layout with char(64) survive, without the blanks`, async () => {
    const setup = await setUp(dialect);
    await anOldDatabase(setup, 1, [
      addOldUser('anna'),
      `create table user_sessions (sid varchar(64) primary key not null, user_id bigint not null, version bigint not null default 1,
        user_auth_version bigint not null, status varchar(16) not null, refresh_hash char(64) not null,
        previous_refresh_hash char(64), previous_valid_until bigint not null default 0, login_method varchar(32) not null,
        ip varchar(64) not null, user_agent text not null, created_at bigint not null, last_active_at bigint not null,
        expires_at bigint not null, revoked_at bigint not null default 0, revoked_reason varchar(64) not null default '')`,
      `insert into user_sessions (sid, user_id, user_auth_version, status, refresh_hash, previous_refresh_hash, login_method, ip,
        user_agent, created_at, last_active_at, expires_at)
        values ('s1', 1, 1, 'active', '${'r'.repeat(64)}', 'short   ', 'password', '', '', 1, 1, 9), ('s2', 1, 1, 'active', 'x', null,
        'password', '', '', 1, 1, 9)`,
    ]);
    const store = await openStore(setup);
    const refreshHash = 'r'.repeat(64);
    expect(await store.sessions.bySid('s1')).toMatchObject({ previousRefreshHash: 'short', refreshHash });
    expect(await store.sessions.bySid('s2')).toMatchObject({ previousRefreshHash: null });
    const raw = openRaw(setup);
    const lengths = await raw.rows(`select length(previous_refresh_hash) as n from user_sessions where sid = 's1'`);
    expect(Number(lengths[0]?.n)).toBe(5);
    await raw.close();
    const rotation = {
      sid: 's1',
      expectedHash: refreshHash,
      expectedVersion: 1,
      expectedUserAuthVersion: 1,
      newHash: 'n',
      previousValidUntil: 8,
      ip: '',
      addressKey: '',
      userAgent: '',
    };
    expect(await store.sessions.rotate({ ...rotation, now: 5 })).toBe(true);
    expect(await store.sessions.bySid('s1')).toMatchObject({ previousRefreshHash: refreshHash });
    await store.close();
  });

  test(`${dialect}: objects of relayed requests are found after an upgrade`, async () => {
    const setup = await setUp(dialect);
    const longest = 'r'.repeat(191);
    const insert = (id: string) =>
      `insert into relay_objects (object_id, kind, vendor, user_id, channel_id, relay_id, created_at)
        values ('${id}', 'response', 'v.example', 1, 3, 'relay_1', 100)`;
    await anOldDatabase(setup, 31, ['resp_1', longest].map(insert));
    const store = await openStore(setup);
    const object = {
      kind: 'response',
      vendor: 'v.example',
      userId: 1,
      channelId: 3,
      credentialId: null,
      relayId: 'relay_1',
      createdAt: 100,
    };
    for (const objectId of ['resp_1', longest])
      expect(await store.relays.ownObject(1, 'response', objectId)).toEqual({ ...object, objectId } as never);
    expect(await store.relays.addObject({ ...object, objectId: longest } as never)).toBe(false);
    await store.close();
  });

  test(`${dialect}: the start after an upgrade changes nothing of the layout`, async () => {
    const setup = await setUp(dialect);
    await anOldDatabase(setup, 1, [addOldUser('anna', { access_token: 'clear' })]);
    expect(await migrateStore(setup)).toEqual(versions.slice(1));
    const raw = openRaw(setup);
    const [upgraded, tokens] = [await layoutMark(raw, setup), await raw.rows('select access_token from users')];
    expect(upgraded).not.toEqual([]);
    expect(await migrateStore(setup)).toEqual([]);
    await (await openStore(setup)).close();
    expect(await layoutMark(raw, setup)).toEqual(upgraded);
    // A token that was hashed is not hashed again.
    expect(await raw.rows('select access_token from users')).toEqual(tokens);
    await raw.close();
  });

  test(`${dialect}: a database with sessions and flows of its own goes on from where it stopped`, async () => {
    const setup = await setUp(dialect);
    await anOldDatabase(setup, 2, [
      addOldUser('anna', { access_token: sha256Hex('tgp_old') }),
      `insert into user_sessions (sid, user_id, user_auth_version, status, refresh_hash, login_method, ip, user_agent, created_at,
        last_active_at, expires_at) values ('s1', 1, 1, 'active', 'r', 'password', '', '', 1, 1, 9)`,
      `insert into auth_flows (token_hash, purpose, created_at, expires_at) values ('t', 'oauth', 1, 9)`,
    ]);
    expect(await migrateStore(setup)).toEqual(versions.slice(2));
    const store = await openStore(setup);
    expect(await store.users.byAccessToken(sha256Hex('tgp_old'))).toMatchObject({ username: 'anna', authVersion: 1 });
    expect(await store.sessions.bySid('s1')).toMatchObject({ status: 'active', refreshHash: 'r' });
    expect(await store.flows.consume('t', { purpose: 'oauth' }, 5)).toMatchObject({ payload: {} });
    await store.close();
  });

  test(`${dialect}: tasks and keys from before webhooks have none, and what they then get is kept`, async () => {
    const setup = await setUp(dialect);
    const isUnlimited = dialect === 'sqlite' ? '1' : 'true';
    await anOldDatabase(setup, 5, [
      addOldUser('anna'),
      `insert into api_keys (user_id, name, key_hash, prefix, status, unlimited_quota, quota, models, allow_ips, webhook_url, created_at)
        values (1, 'old', 'h', 'sk-old', 1, ${isUnlimited}, 0, '[]', '[]', 'https://hooks.example/', 77)`,
      `insert into tasks (task_id, platform, user_id, api_key_id, "group", channel_id, action, status, progress, created_at, updated_at,
        quota, properties, execution, billing) values ('task_old', 'demo', 1, 1, 'default', 1, '', 'QUEUED', '20%', 77, 77, 5, '{}', '{}', '{}')`,
    ]);
    expect(await migrateStore({ ...setup, dryRun: true })).toEqual(versions.slice(5));
    const store = await openStore(setup);
    expect(await store.tasks.byTaskId('task_old')).toMatchObject({
      ...{ status: 'QUEUED', quota: 5, callbackUrl: null },
      // The version that serves reads it.
      sourceHash: '',
    });
    expect(await store.apiKeys.byId(1)).toMatchObject({
      ...{ name: 'old', webhookUrl: 'https://hooks.example/' },
      ...{ webhookSecretSealed: null, webhookFormers: [] },
    });
    await store.apiKeys.rotateWebhookSecret(1, 1, { present: null, sealed: 'sealed', formers: [] });
    const notice = { taskId: 'task_old', userId: 1, apiKeyId: 1, url: 'https://hooks.example/', host: 'hooks.example' };
    await store.webhooks.putFinish(
      { ...notice, eventId: 'msg_1', event: 'task.finished', payload: {}, createdAt: 78 },
      1000,
    );
    await expect(
      store.webhooks.putFinish(
        { ...notice, eventId: 'msg_1', event: 'task.finished', payload: {}, createdAt: 78 },
        1000,
      ),
    ).rejects.toThrow();
    await store.close();
    const again = await openStore({ ...setup, migrate: false });
    expect((await again.webhooks.listOfTask('task_old', { page: 1, pageSize: 9 })).total).toBe(1);
    await again.close();
  });

  test(`${dialect}: a webhook secret that was replaced before the upgrade still signs along after it`, async () => {
    const setup = await setUp(dialect);
    const isUnlimited = dialect === 'sqlite' ? '1' : 'true';
    const key = (name: string, former: string) =>
      `insert into api_keys (user_id, name, key_hash, prefix, status, unlimited_quota, quota, models, allow_ips, created_at,
        webhook_secret_sealed, webhook_former_sealed, webhook_former_until)
        values (1, '${name}', '${name}', 'sk-old', 1, ${isUnlimited}, 0, '[]', '[]', 77, 'now', ${former}, 99)`;
    await anOldDatabase(setup, 10, [addOldUser('anna'), key('one', `'before'`), key('two', 'null')]);
    const store = await openStore(setup);
    expect((await store.apiKeys.byId(1))?.webhookFormers).toEqual([{ sealed: 'before', until: 99 }]);
    expect((await store.apiKeys.byId(2))?.webhookFormers).toEqual([]);
    await store.close();
  });

  test(`${dialect}: a Telegram ID of two users refuses the migration, names them and changes nothing`, async () => {
    const setup = await setUp(dialect);
    await anOldDatabase(setup, 1, [
      addOldUser('anna', { telegram_id: '42', access_token: 'clear' }),
      addOldUser('carl', { telegram_id: '' }),
      addOldUser('dora', { telegram_id: '' }),
      addOldUser('bert', { telegram_id: '42' }),
    ]);
    const message = expect.stringMatching(/nothing was changed.*: 42 \(users anna, bert\)\. Clear telegram_id/);
    const refusal = { code: 'store.migration_refused', message };
    await expect(migrateStore({ ...setup, dryRun: true })).rejects.toMatchObject(refusal);
    await expect(openStore(setup)).rejects.toMatchObject(refusal);
    await expect(migrateStore(setup)).rejects.toMatchObject(refusal);
    // However often a start is refused, one copy is kept.
    if (dialect === 'sqlite') {
      const files = readdirSync(setup.dataDir).filter((name) => name.includes('before'));
      expect(files).toEqual(['taskgate.db.before-0002_panel_sessions']);
    }
    const raw = openRaw(setup);
    await expect(raw.rows('select auth_version from users')).rejects.toThrow();
    expect(await raw.rows(`select access_token from users where username = 'anna'`)).toEqual([
      { access_token: 'clear' },
    ]);
    expect(await raw.rows('select number from schema_migrations')).toEqual([{ number: 1 }]);
    await raw.run(`update users set telegram_id = null where username = 'bert'`);
    await raw.close();
    await (await openStore(setup)).close();
  });

  test(`${dialect}: a database newer than the program is refused, untouched`, async () => {
    const setup = await setUp(dialect);
    await (await openStore(setup)).close();
    const raw = openRaw(setup);
    await raw.run(`insert into schema_migrations values (${versions.length + 1}, 'from_the_future', 1)`);
    await raw.close();
    const newer = { code: 'store.schema_newer', message: expect.stringContaining('newer program') };
    await expect(openStore(setup)).rejects.toMatchObject(newer);
    await expect(openStore({ ...setup, migrate: false })).rejects.toMatchObject(newer);
    await expect(migrateStore({ ...setup, dryRun: true })).rejects.toMatchObject(newer);
  });

  test(`${dialect}: eight nodes that start at once migrate once`, async () => {
    const setup = await setUp(dialect);
    const stores = await Promise.all(Array.from({ length: 8 }, () => openStore(setup)));
    const raw = openRaw(setup);
    expect(await raw.rows('select count(*) as n from schema_migrations')).toMatchObject([
      { n: dialect === 'sqlite' ? versions.length : `${versions.length}` },
    ]);
    await raw.close();
    for (const store of stores) await store.close();
  });
}

test('sqlite: an existing file is copied before it is migrated, for its owner alone; a new one is not', async () => {
  const setup = await setUp('sqlite');
  await anOldDatabase(setup, 1, [addOldUser('anna')]);
  await (await openStore(setup)).close();
  await (await openStore(setup)).close();
  const copies = readdirSync(setup.dataDir).filter((name) => name.includes('.before-'));
  expect(copies).toHaveLength(1);
  const copy = join(setup.dataDir, copies[0] ?? '');
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  const file = new SqliteFile(copy, { readonly: true });
  expect(file.query('select username from users').values()).toEqual([['anna']]);
  expect(file.query('select number from schema_migrations').values()).toEqual([[1]]);
  file.close();

  const fresh = await setUp('sqlite');
  await (await openStore(fresh)).close();
  expect(readdirSync(fresh.dataDir)).toEqual(['taskgate.db']);
  expect(statSync(join(fresh.dataDir, 'taskgate.db')).mode & 0o777).toBe(0o600);
});

test('sqlite: a new file has the layout and the rows that the migrations make one after the other', async () => {
  const [fresh, upgraded] = [await setUp('sqlite'), await setUp('sqlite')];
  await anOldDatabase(upgraded, 1, []);
  for (const setup of [fresh, upgraded]) await (await openStore(setup)).close();
  const contents = ({ dataDir }: Setup) => {
    const file = new SqliteFile(join(dataDir, 'taskgate.db'), { readonly: true });
    const objects = file.query('select type, name, tbl_name, sql from sqlite_master order by type, name').values();
    // Without the history, which has times, and SQLite's own counters, absent or 0 here.
    const skipped = ['schema_migrations', 'sqlite_sequence'];
    const tables = objects.filter(([type, name]) => type === 'table' && !skipped.includes(String(name)));
    const rows = tables.map(([, name]) => [name, file.query(`select * from ${name}`).values()]);
    const history = file.query('select number, name from schema_migrations order by number').values();
    file.close();
    return { objects, rows, history };
  };
  expect(contents(fresh)).toEqual(contents(upgraded));
  expect(contents(fresh).objects.length).toBeGreaterThan(50);
});

test('sqlite: a new file is sound, writes ahead from its first byte, and leaves no draft', async () => {
  const setup = await setUp('sqlite');
  expect(await migrateStore(setup)).toEqual(versions);
  const path = join(setup.dataDir, 'taskgate.db');
  // 2 at bytes 18 and 19: no connection has to switch the file to the write-ahead log.
  expect([...readFileSync(path).subarray(18, 20)]).toEqual([2, 2]);
  const file = new SqliteFile(path, { readwrite: true });
  expect(file.query('pragma integrity_check').values()).toEqual([['ok']]);
  expect(file.query('pragma journal_mode').values()).toEqual([['wal']]);
  file.close();
  expect(readdirSync(setup.dataDir).filter((name) => /^taskgate\.db\./.test(name))).toEqual([]);
});

test('sqlite: what a first start that was cut off left behind does not stop the next one', async () => {
  for (const left of ['taskgate.db', 'taskgate.db-wal', 'taskgate.db-journal', 'taskgate.db.draft']) {
    const setup = await setUp('sqlite');
    mkdirSync(setup.dataDir, { recursive: true });
    writeFileSync(join(setup.dataDir, left), '');
    expect(await migrateStore(setup)).toEqual(versions);
    const store = await openStore(setup);
    expect(await store.users.byNameOrAddress('nobody')).toBeUndefined();
    await store.close();
  }
});

test('sqlite: the log of a database that was removed is not replayed into the new one', async () => {
  const setup = await setUp('sqlite');
  const store = await openStore(setup);
  await store.options.put('from-before', 'x');
  const log = readFileSync(join(setup.dataDir, 'taskgate.db-wal'));
  await store.close();
  rmSync(join(setup.dataDir, 'taskgate.db'));
  writeFileSync(join(setup.dataDir, 'taskgate.db-wal'), log);
  const next = await openStore(setup);
  expect(await next.options.get('from-before')).toBeUndefined();
  await next.close();
});

test('sqlite: the script for a new file is what the migrations print', () => {
  expect(newSqliteDatabase).toBe(printNewDatabase(migrations));
});

test('migrations count from 1 without gaps, and their names begin with their numbers', () => {
  expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, i) => i + 1));
  for (const { number, name } of migrations) expect(name).toStartWith(`${number}`.padStart(4, '0'));
});
