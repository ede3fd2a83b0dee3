import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { lockDataDir } from '../../src/store/index.ts';
import { startGateway } from '../support/gateway.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { runCommand, spawnCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PASSWORD = 'correct horse battery';

const createRoot = (dataDir: string, username = 'ada', stdin = `${PASSWORD}\n`) =>
  runCommand(['admin', 'create-root', '--username', username, '--password-stdin', '--data-dir', dataDir], { stdin });
const databaseFor = (dataDir: string): string => {
  const name = readdirSync(dataDir).find((file) => file.endsWith('.db'));
  if (!name) throw new Error(`no database among ${readdirSync(dataDir).join(', ')}`);
  return join(dataDir, name);
};

/** A value that only the secrets of this gateway decrypt. */
function sealSomething(dataDir: string): void {
  const database = new Database(databaseFor(dataDir));
  database.run("insert into options (key, value) values ('SMTPToken', 'v1.0123456789abcdef.0123456789abcdefghijkl.x')");
  database.close();
}

describe('admin create-root', () => {
  test('creates the administrator in a new data directory, once', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const first = await createRoot(dataDir);
    expect([first.code, first.err]).toEqual([0, '']);
    expect(first.out).toContain('administrator "ada" created');
    expect(first.out).not.toContain(PASSWORD);
    expect(statSync(join(dataDir, 'secrets.json')).mode & 0o777).toBe(0o600);
    const second = await createRoot(dataDir, 'bob');
    expect(second.code).toBe(1);
    expect(second.err).toStartWith('taskgate: ');
    expect(second.err).not.toContain('unexpected error');
  });

  test.each([
    ['', 'no password on standard input'],
    ['short\n', 'password'],
  ])('refuses the password %j', async (stdin, part) => {
    const { code, err } = await createRoot(temporaryFolder(), 'ada', stdin);
    expect(code).toBe(1);
    expect(err.toLowerCase()).toContain(part);
    expect(err).not.toContain('unexpected error');
  });

  test('answers with JSON', async () => {
    const argv = [
      'admin',
      'create-root',
      '--username',
      'ada',
      '--password-stdin',
      '--json',
      '--data-dir',
      temporaryFolder(),
    ];
    const { code, out } = await runCommand(argv, { stdin: PASSWORD });
    expect([code, JSON.parse(out)]).toEqual([0, { ok: true, user_id: 1, username: 'ada' }]);
  });
});

describe('admin reset-password', () => {
  const reset = (dataDir: string, username: string) =>
    runCommand(['admin', 'reset-password', '--username', username, '--password-stdin', '--data-dir', dataDir], {
      stdin: 'another long password',
    });
  test('changes the stored hash', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    const hash = () => {
      const database = new Database(databaseFor(dataDir));
      try {
        return database.query('select password_hash, auth_version from users').values()[0];
      } finally {
        database.close();
      }
    };
    const before = hash();
    expect((await reset(dataDir, 'ADA')).code).toBe(0);
    expect(hash()?.[0]).not.toBe(before?.[0]);
    expect(hash()?.[1]).toBe(2);
  });
  test('an unknown account exits 1', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    const { code, err } = await reset(dataDir, 'nobody');
    expect(code).toBe(1);
    expect(err).not.toContain('unexpected error');
  });
});

describe('migrate', () => {
  test('--dry-run lists and changes nothing; a run migrates; a second one finds nothing to do', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const migrate = (...argv: string[]) => runCommand(['migrate', '--json', '--data-dir', dataDir, ...argv]);
    const listed = JSON.parse((await migrate('--dry-run')).out) as { migrations: string[] };
    expect(listed.migrations.length).toBeGreaterThan(1);
    expect(existsSync(dataDir)).toBe(false);
    const done = await migrate();
    expect(JSON.parse(done.out)).toEqual({ ok: true, dry_run: false, migrations: listed.migrations });
    expect((await runCommand(['migrate', '--data-dir', dataDir])).out).toBe('the database is up to date\n');
  });

  describe('--dry-run names what would stop the start, changes nothing and exits 1', () => {
    const dryRun = async (dataDir: string, env: Record<string, string> = {}) => {
      const { code, out, err } = await runCommand(['migrate', '--dry-run', '--data-dir', dataDir], { env });
      return { code, text: `${out}${err}` };
    };
    const refused = async (dataDir: string, says: string, env: Record<string, string> = {}) => {
      const { code, text } = await dryRun(dataDir, env);
      expect(text).toContain(says);
      expect(code).toBe(1);
    };

    test('several problems at once: damaged secrets and a newer database', async () => {
      const dataDir = temporaryFolder();
      await createRoot(dataDir);
      const database = new Database(databaseFor(dataDir));
      database.run("insert into schema_migrations (number, name, applied_at) values (9999, 'later', 1)");
      database.close();
      writeFileSync(join(dataDir, 'secrets.json'), '{');
      const before = readdirSync(dataDir).sort();
      await refused(dataDir, 'The database is at version 9999');
      await refused(dataDir, 'secrets.json is damaged');
      expect(readdirSync(dataDir).sort()).toEqual(before);
    });

    test('a data directory in use by another gateway', async () => {
      const dataDir = temporaryFolder();
      const gateway = await startGateway({ dataDir });
      await refused(dataDir, 'Another gateway is running on the data directory');
      await gateway.stop();
      expect((await dryRun(dataDir)).code).toBe(0);
    });

    test('a file in place of the data directory, a file in its path, a file system without new folders', async () => {
      const file = join(temporaryFolder(), 'file');
      writeFileSync(file, '');
      await refused(file, 'there is a file with that name');
      await refused(join(file, 'data'), 'a part of the path is a file');
      await refused('/proc/taskgate-data', 'cannot be used');
    });

    test('invalid settings, a file that is not a database, the tables of another program', async () => {
      const dataDir = temporaryFolder();
      await refused(dataDir, 'PORT: read "abc"', { PORT: 'abc' });
      await createRoot(dataDir);
      const path = databaseFor(dataDir);
      writeFileSync(path, 'no database '.repeat(100));
      await refused(dataDir, 'not a database');
      rmSync(path);
      const foreign = new Database(path);
      foreign.run('create table users (id integer)');
      foreign.close();
      await refused(dataDir, 'tables of another program');
    });

    test('secrets that are lost while the database needs them', async () => {
      const dataDir = temporaryFolder();
      await createRoot(dataDir);
      sealSomething(dataDir);
      expect((await dryRun(dataDir)).code).toBe(0);
      rmSync(join(dataDir, 'secrets.json'));
      await refused(dataDir, 'secrets.json is missing, and the database holds values');
      expect((await dryRun(dataDir, { REPLACE_LOST_SECRETS: 'true' })).code).toBe(0);
    });

    test('a restore that has not ended, a database that was moved away', async () => {
      const unfinished = temporaryFolder();
      mkdirSync(join(unfinished, 'taskgate.restoring'));
      await refused(unfinished, 'has not ended. Run "taskgate backup restore" again');
      const moved = temporaryFolder();
      await createRoot(moved);
      const to = join(temporaryFolder(), 'new');
      expect((await runCommand(['move-database', '--data-dir', moved, '--to', to])).code).toBe(0);
      await refused(moved, 'closed for good');
    });

    test('a PostgreSQL that does not answer', () =>
      refused(temporaryFolder(), 'PostgreSQL cannot be reached', {
        DATABASE_URL: 'postgres://taskgate:x@127.0.0.1:9/none',
        SESSION_SECRET: 'a-session-secret-of-the-tests',
        CRYPTO_SECRET: 'a-crypto-secret-of-the-tests',
      }));
  });
});

describe('move-database', () => {
  test.each([
    'mysql://gate:its-password@db.lan/gate',
    'postgre://gate:its-password@db.lan/gate',
    'POSTGRES:gate:its-password@db.lan',
  ])('takes %s for no folder: the database would be closed for good', async (to) => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    const cwd = temporaryFolder();
    for (const command of to.startsWith('mysql') ? ['move-database', 'salvage'] : ['move-database']) {
      const { code, out, err } = await runCommand([command, '--data-dir', dataDir, '--to', to], { cwd });
      expect([code, err]).toEqual([2, expect.stringContaining('taskgate: --to is ')]);
      expect(out + err).not.toContain('its-password');
    }
    expect(readdirSync(cwd)).toEqual([]);
    expect((await runCommand(['doctor', '--data-dir', dataDir])).code).toBe(0);
  });

  test('says where the secrets of secrets.json must go, former ones too', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    expect((await runCommand(['secrets', 'rotate', '--generate', '--data-dir', dataDir])).code).toBe(0);
    const to = join(temporaryFolder(), 'new');
    const other = await runCommand(['move-database', '--data-dir', dataDir, '--to', to]);
    expect(other.out).toContain(`copy ${join(dataDir, 'secrets.json')} into ${to}`);
    expect(other.out).not.toContain('in the environment');
    copyFileSync(join(dataDir, 'secrets.json'), join(to, 'secrets.json'));
    const databaseUrl = await testDatabaseUrl();
    const postgres = await runCommand(['move-database', '--data-dir', to, '--to', databaseUrl]);
    expect(postgres.code).toBe(0);
    expect(postgres.out).toContain('and SESSION_SECRET_PREVIOUS and CRYPTO_SECRET_PREVIOUS to the former ones there');
  });
});

test('secrets rotate --generate is refused while a gateway starts, which has no heartbeat yet', async () => {
  const dataDir = temporaryFolder();
  await createRoot(dataDir);
  const path = join(dataDir, 'secrets.json');
  const before = readFileSync(path, 'utf8');
  const rotate = () => runCommand(['secrets', 'rotate', '--generate', '--data-dir', dataDir]);
  const release = lockDataDir(dataDir);
  const refused = await rotate();
  release();
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('Another gateway is running')]);
  expect(readFileSync(path, 'utf8')).toBe(before);
  expect((await rotate()).code).toBe(0);
});

describe('doctor', () => {
  const doctor = (dataDir: string, env: Record<string, string> = {}, ...argv: string[]) =>
    runCommand(['doctor', '--data-dir', dataDir, ...argv], { env });

  test('finds no fault in a sound database', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    const { code, out } = await doctor(dataDir);
    expect(out).not.toContain('ERROR');
    expect(out).toContain('every balance is the sum of its ledger lines');
    expect(code).toBe(0);
  });

  test('exits 1 and names a balance that does not agree with the ledger', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    const database = new Database(databaseFor(dataDir));
    database.run('update wallets set quota = quota + 7 where user_id = 1');
    database.close();
    const { code, out } = await doctor(dataDir);
    expect(code).toBe(1);
    expect(out).toContain('wallet 1 of user 1: balance 100000007, ledger 100000000');
    const json = await doctor(dataDir, {}, '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false });
  });

  test('names the damage of a database instead of checking what stands in it', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    const path = databaseFor(dataDir);
    const whole = await doctor(dataDir);
    expect(whole.out).toContain('every page and index of the database is whole');
    const bytes = readFileSync(path);
    // Inside the second page, which the schema or a table uses.
    bytes.fill(0xff, 4096, 4096 + 64);
    writeFileSync(path, bytes);
    const { code, out } = await doctor(dataDir);
    expect(code).toBe(1);
    expect(out).toContain('the database is damaged');
    expect(out).toContain('restore the newest backup');
    expect(out).not.toContain('every balance');
  });

  test('--data tells a database that it cannot check from one that is damaged', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    const path = databaseFor(dataDir);
    const findings = async () => JSON.parse((await doctor(dataDir, {}, '--data', '--json')).out).findings;
    const database = new Database(path);
    database.run('delete from schema_migrations where number = (select max(number) from schema_migrations)');
    database.close();
    expect(await findings()).toContainEqual({
      ...{ check: 'database', level: 'error', details: { checked: false } },
      message: expect.stringContaining('The database lacks'),
    });
    const bytes = readFileSync(path);
    bytes.fill(0xff, 4096, 4096 + 64);
    writeFileSync(path, bytes);
    const broken = (await findings()).find(({ check }: { check: string }) => check === 'database');
    expect(broken).toMatchObject({ level: 'error', message: expect.stringContaining('the database is damaged') });
    expect(broken).not.toHaveProperty('details');
  });

  test('tells of a write-ahead log that was cut', async () => {
    const gateway = await startGateway();
    await gateway.kill();
    const log = `${databaseFor(gateway.dataDir)}-wal`;
    truncateSync(log, statSync(log).size - 100);
    const { code, out } = await doctor(gateway.dataDir);
    expect(code).toBe(1);
    expect(out).toContain(`${log} ends within a page: it was cut`);
  });

  test('without secrets, checks the ledger and says what to do; nothing is rotated', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    sealSomething(dataDir);
    rmSync(join(dataDir, 'secrets.json'));
    const { code, out } = await doctor(dataDir);
    expect(code).toBe(1);
    expect(out).toContain('every balance is the sum of its ledger lines');
    expect(out).toMatch(/ERROR {4}secrets: .*secrets\.json is missing.*restore the file from a backup/);
    const rotated = await runCommand(['secrets', 'rotate', '--generate', '--data-dir', dataDir]);
    expect(rotated.code).toBe(1);
    expect(rotated.err).toContain('restore the file from a backup');
    expect(existsSync(join(dataDir, 'secrets.json'))).toBe(false);
  });

  test('tampering: exits 1 and names a changed row of the audit log', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    expect((await doctor(dataDir)).out).toContain('the audit log is unaltered (1 row in its chains)');
    const database = new Database(databaseFor(dataDir));
    database.run(`update audit_logs set username = 'somebody else'`);
    database.close();
    const { code, out } = await doctor(dataDir);
    expect(code).toBe(1);
    expect(out).toContain('the audit log was altered: row 1 was changed');
  });

  test('warnings alone exit 0', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    const { code, out } = await doctor(dataDir, { HOST: '0.0.0.0' });
    expect(code).toBe(0);
    expect(out).toContain('warning  configuration: The gateway listens on the network (HOST=0.0.0.0)');
    expect(out).toMatch(
      /warning {2}address: Results have no links, and links in emails point to http:\/\/localhost.*Set ServerAddress to/,
    );
  });

  test('names users and providers whose secrets no CRYPTO_SECRET decrypts, and warns if every node is a worker', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    const database = new Database(databaseFor(dataDir));
    database.run(
      `insert into two_factor (user_id, secret_sealed, enabled, last_step, failures, locked_until, created_at)
       values (1, 'v1.nothing.nobody.opens', 1, 0, 0, 0, 1)`,
    );
    database.run(
      `insert into nodes (id, role, version, started_at, heartbeat_at, fingerprints)
       values ('w', 'worker', '0', 1, unixepoch(), '[]')`,
    );
    database.run(
      `insert into oauth_providers (slug, name, icon, enabled, client_id, client_secret_sealed, authorization_endpoint,
         token_endpoint, user_info_endpoint, well_known, scopes, user_id_field, username_field, display_name_field,
         email_field, auth_style, access_policy, access_denied_message, created_at, updated_at)
       values ('acme', 'Acme', '', 1, 'id', 'v1.nothing.nobody.opens', '', '', '', '', '', '', '', '', '', 0, '', '', 1, 1)`,
    );
    database.close();
    const { code, out } = await doctor(dataDir);
    expect(out).toContain('authenticator secrets of 1 user: 1 (ada)');
    expect(out).toContain('client secrets of the added providers acme');
    expect(out).toContain('warning  nodes: every running node is a worker');
    expect(out).not.toContain('nobody.opens');
    expect(code).toBe(1);
  });

  test('says how old the latest good backup is: advice exits 0, a failed or overdue one exits 1', async () => {
    const dataDir = temporaryFolder();
    await createRoot(dataDir);
    const advice = await doctor(dataDir);
    expect(advice.out).toContain('warning  backups: BACKUP_TO is not set');
    expect(advice.code).toBe(0);

    const database = new Database(databaseFor(dataDir));
    const now = Math.floor(Date.now() / 1000);
    const addRun = (id: string, status: string, at: number) =>
      database.run(
        `insert into backup_runs (id, trigger_kind, status, place, owner, lease_until, started_at, ended_at, message)
         values (?, 'schedule', ?, '/backups', 'x', 0, ?, ?, 'the folder is full')`,
        [id, status, at, at],
      );
    const env = { BACKUP_TO: join(dataDir, '..'), BACKUP_PASSPHRASE: 'a passphrase of a test' };
    addRun('good', 'done', now - 5 * 3600);
    database.run("insert into options (key, value) values ('backup.daily', 'true')");
    const same = await doctor(dataDir, env);
    expect(same.out).toContain('is on the same disk as the database');
    expect(same.code).toBe(0);
    const good = await doctor(dataDir, { ...env, BACKUP_TO: 's3://copies/x?endpoint=https://s3.example.org' });
    expect(good.out).toContain('ok       backups: The latest good backup is 5 hours old, in s3://copies/x');

    // A folder that cannot be looked at hides no finding.
    const loop = join(temporaryFolder(), 'loop');
    symlinkSync(loop, loop);
    expect((await doctor(dataDir, { ...env, BACKUP_TO: loop })).out).toContain('5 hours old');

    addRun('bad', 'failed', now - 60);
    const failed = await doctor(dataDir, env);
    expect(failed.out).toContain(
      'ERROR    backups: The latest backup failed: the folder is full. The latest good backup is 5 hours old.',
    );
    expect(failed.code).toBe(1);
    database.run('delete from backup_runs');
    addRun('old', 'done', now - 60 * 3600);
    database.close();
    const overdue = await doctor(dataDir, env);
    expect(overdue.out).toContain('ERROR    backups: The latest backup is 60 hours old.');
    expect(overdue.code).toBe(1);
  });

  test('creates nothing: an absent data directory or database is an error', async () => {
    const dataDir = join(temporaryFolder(), 'absent');
    expect((await doctor(dataDir)).code).toBe(1);
    expect(existsSync(dataDir)).toBe(false);
    const empty = temporaryFolder();
    const { code, out } = await doctor(empty);
    expect(code).toBe(1);
    expect(out).toContain('ERROR    database:');
    expect(readdirSync(empty)).toEqual([]);
  });
});

describe('demo-vendor', () => {
  test('serves until a stop signal', async () => {
    const child = spawnCommand(['demo-vendor', '--port', '0', '--json']);
    const { value } = await child.stdout.getReader().read();
    const { url } = JSON.parse(new TextDecoder().decode(value)) as { url: string };
    expect((await fetch(`${url}/stats`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
  });
});
