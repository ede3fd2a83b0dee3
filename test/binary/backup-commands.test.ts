/** The commands for backups: what they refuse, and what interruptions leave behind. */
import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { makeBackupKey } from '../support/backup-key.ts';
import { testInFullRun } from '../support/full-run.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { databaseEnvironment, runCommand, spawnCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
const dataDir = join(folder, 'data');
const place = join(folder, 'backups');
const passphraseFile = join(folder, 'passphrase');
const key = await makeBackupKey();
const env = { BACKUP_RECIPIENTS: key.recipient };
const opened = ['--identity', key.identityFile];
let id = '';

const run = (words: string, options: string[] = [], more: Record<string, string> = {}) =>
  runCommand(['backup', words, '--json', ...options], { env: { ...env, ...more } });
const create = (options: string[] = []) => run('create', ['--to', place, '--data-dir', dataDir, ...options]);
const restoreWith =
  (means: readonly string[]) =>
  (from: string, into: string, options: string[] = []) =>
    run('restore', ['--from', from, '--data-dir', into, ...means, ...options]);
const restore = restoreWith(opened);
const verify = (from: string, options: string[] = []) =>
  run('verify', ['--from', from, '--data-dir', join(folder, 'work'), ...opened, ...options]);
const databaseFor = (path: string) => new Database(join(path, 'taskgate.db'));
/** A copy of the place, to be changed. */
function copyPlace(): string {
  const copy = join(temporaryFolder(), 'backups');
  cpSync(place, copy, { recursive: true });
  return copy;
}
function changeManifest(at: string, change: (manifest: Record<string, object>) => void): void {
  const path = join(at, id, 'manifest.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  change(manifest);
  writeFileSync(path, JSON.stringify(manifest));
}

beforeAll(async () => {
  mkdirSync(join(folder, 'work'));
  writeFileSync(passphraseFile, 'a passphrase of a test\n');
  const argv = ['admin', 'create-root', '--username', 'root', '--password-stdin', '--data-dir', dataDir];
  expect((await runCommand(argv, { stdin: 'correct horse battery' })).code).toBe(0);
  const { code, out, err } = await create();
  expect([code, err]).toEqual([0, '']);
  id = JSON.parse(out).id;
});

describe('backup create', () => {
  test('lets a gateway come first, and still ends where other work fills the machine', async () => {
    const pipe = join(folder, 'pipe');
    expect(Bun.spawnSync(['mkfifo', pipe]).exitCode).toBe(0);
    const to = join(folder, 'waits-for-its-passphrase');
    const child = spawnCommand(['backup', 'create', '--to', to, '--data-dir', dataDir], {
      env: { BACKUP_PASSPHRASE_FILE: pipe },
    });
    const priority = await until('it has lowered its priority', () => getPriority(child.pid) || undefined);
    writeFileSync(pipe, readFileSync(passphraseFile));
    expect([priority, await child.exited]).toEqual([10, 0]);
  });

  test('makes files that only their owner reads, and leaves nothing else behind', () => {
    expect(readdirSync(join(place, id)).sort()).toEqual([
      'database.sqlite.zst',
      'manifest.json',
      'results.txt',
      'secrets.age',
    ]);
    for (const name of readdirSync(join(place, id))) expect(statSync(join(place, id, name)).mode & 0o077).toBe(0);
    expect(readdirSync(dataDir).sort()).toEqual(['secrets.json', 'taskgate.backup.lock', 'taskgate.db']);
  });

  test.each([
    [['--to', place], {}, 'no way to encrypt the secrets is set'],
    [[], { BACKUP_PASSPHRASE_FILE: passphraseFile }, 'no backup location'],
    [['--to', place, '--recipients', 'age1nobody'], {}, 'is not a public key of age'],
    [['--to', place], { BACKUP_PASSPHRASE_FILE: '/nowhere' }, '/nowhere cannot be read'],
    [['--to', 's3://bucket'], { BACKUP_PASSPHRASE_FILE: passphraseFile }, 'BACKUP_S3_ACCESS_KEY_ID'],
  ] as const)('refuses %j with %j', async (options, given, part) => {
    const { code, out } = await runCommand(['backup', 'create', '--json', '--data-dir', dataDir, ...options], {
      env: given,
    });
    expect(code).toBeGreaterThan(0);
    expect(JSON.parse(out).error).toContain(part);
  });

  testInFullRun('killed in the meantime, it leaves no backup, and the next one begins at once', async () => {
    let other = '';
    // On a busy machine one may end before it is killed.
    await until('one is killed before its end', async () => {
      other = mkdtempSync(join(folder, 'killed-'));
      const child = spawnCommand(['backup', 'create', '--to', other, '--data-dir', dataDir], { env });
      await until('its database is stored', () => readdirSync(other).some((name) => name.startsWith('2')));
      child.kill('SIGKILL');
      return (await child.exited) !== 0;
    });
    const listed = JSON.parse((await run('list', ['--from', other])).out);
    expect([listed.backups, listed.unfinished.length]).toEqual([[], 1]);
    const { code, out } = await run('create', ['--to', other, '--data-dir', dataDir]);
    expect([code, JSON.parse(out).created]).toEqual([0, true]);
    expect(readdirSync(dataDir)).not.toContain('taskgate.backup');

    const left = join(other, '.partial', 'of-a-killed-process');
    writeFileSync(left, 'half');
    const longAgo = Date.now() / 1000 - 3 * 86_400;
    utimesSync(left, longAgo, longAgo);
    expect((await run('create', ['--to', other, '--data-dir', dataDir])).code).toBe(0);
    expect(existsSync(left)).toBe(false);
  });
});

testInFullRun('a folder whose disk is not mounted is not a place for a backup', async () => {
  const mount = join(folder, 'mount');
  const make = (options: string[] = []) => run('create', ['--to', mount, '--data-dir', dataDir, ...options]);
  expect((await make()).code).toBe(0);
  renameSync(mount, `${mount}.away`);
  for (const isEmpty of [false, true]) {
    if (isEmpty) mkdirSync(mount);
    const { code, out } = await make();
    expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining('mount its disk')]);
  }
  expect(readdirSync(mount)).toEqual([]);
  expect((await make(['--accept-folder'])).code).toBe(0);
  expect((await make()).code).toBe(0);
});

describe('backup verify', () => {
  test('says what is whole', async () => {
    const { code, out } = await verify(place);
    expect([code, JSON.parse(out)]).toMatchObject([0, { ok: true, id, secrets: 'opened' }]);
    expect(readdirSync(join(folder, 'work'))).toEqual([]);
  });

  test.each(['database.sqlite.zst', 'secrets.age', 'results.txt', 'manifest.json'])(
    'finds a changed %s',
    async (file) => {
      const copy = copyPlace();
      const path = join(copy, id, file);
      const bytes = readFileSync(path);
      writeFileSync(path, bytes.length > 0 ? Buffer.concat([bytes.subarray(0, -1), Buffer.from('~')]) : '0');
      const { code, out } = await verify(copy, ['--id', id]);
      expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining('damaged')]);
      expect((await restore(copy, join(folder, `no-${file}`), ['--id', id])).code).toBe(1);
      expect(existsSync(join(folder, `no-${file}`, 'taskgate.db'))).toBe(false);
    },
  );
});

describe('backup restore', () => {
  test('gives back accounts and secrets, and a new installation', async () => {
    const into = join(folder, 'restored');
    const { code, err } = await restore(place, into, ['--id', id]);
    expect([code, err]).toEqual([0, '']);
    expect(readFileSync(join(into, 'secrets.json'), 'utf8')).toContain(
      JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8')).crypto_secret,
    );
    const [before, after] = [dataDir, into].map((path) => {
      const database = databaseFor(path);
      const read = (text: string) => database.query(text).values();
      const found = {
        users: read(
          'select username, password_hash, wallets.quota from users join wallets on wallets.user_id = users.id',
        ),
        installation: read("select value from options where key = 'installation.id'"),
        audit: read("select count(*) from audit_logs where action = 'backup.restore'"),
      };
      database.close();
      return found;
    });
    expect(after?.users).toEqual(before?.users ?? []);
    expect(after?.installation).not.toEqual(before?.installation ?? []);
    expect(after?.audit).toEqual([[1]]);
  });

  test.each([
    ['restore', join(passphraseFile, 'data'), place, 'cannot be used: a part of the path is a file'],
    ['restore', join(folder, 'none'), passphraseFile, `${passphraseFile} is not a folder`],
    ['verify', join(folder, 'work'), passphraseFile, `${passphraseFile} is not a folder`],
    ['restore', join(folder, 'none'), 'sftp://nas/backups', 'not to sftp://'],
  ])('%s into %s from %s says what is wrong, without a stack trace', async (command, into, from, part) => {
    const { code, out, err } = await run(command, ['--from', from, '--data-dir', into, ...opened]);
    expect([code > 0, JSON.parse(out).error, err]).toEqual([true, expect.stringContaining(part), '']);
  });

  test('refuses a folder that is not empty, and changes nothing there', async () => {
    const into = temporaryFolder();
    writeFileSync(join(into, 'mine.txt'), 'mine');
    const { code, out } = await restore(place, into, ['--id', id]);
    expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining('not empty')]);
    expect(readdirSync(into).sort()).toEqual(['mine.txt', 'taskgate.lock']);
  });

  test('of SQLite goes into PostgreSQL, and one of PostgreSQL names the way', async () => {
    const databaseUrl = await testDatabaseUrl();
    const into = join(folder, 'across');
    const options = ['--from', place, '--id', id, '--data-dir', into, ...opened];
    const { code, out, err } = await run('restore', options, databaseEnvironment(databaseUrl));
    expect([code, err]).toEqual([0, '']);
    expect(JSON.parse(out).notes.join()).toContain('secrets.restored.env');
    const doctor = await runCommand(['doctor', '--data', '--data-dir', into], {
      env: databaseEnvironment(databaseUrl),
    });
    expect([doctor.code, doctor.out]).toEqual([0, expect.stringContaining('every balance is the sum')]);
    expect(readdirSync(into).filter((name) => name.startsWith('taskgate'))).toEqual([]);
    const copy = copyPlace();
    changeManifest(copy, (manifest) => Object.assign(manifest.database ?? {}, { kind: 'postgres' }));
    const refused = await restore(copy, join(folder, 'from-postgres'), ['--id', id]);
    expect([refused.code, JSON.parse(refused.out).error]).toEqual([1, expect.stringContaining('move-database')]);
  });

  test('a file that an interrupted restore of another backup left is not taken for this one', async () => {
    const databaseUrl = await testDatabaseUrl();
    const into = temporaryFolder();
    const left = join(into, 'taskgate.across.20260101T000000Z-Abcdef');
    for (const path of [left, join(into, 'taskgate.across')]) {
      mkdirSync(path);
      cpSync(join(dataDir, 'taskgate.db'), join(path, 'taskgate.db'));
      const other = databaseFor(path);
      other.run("UPDATE users SET username = 'stranger'");
      other.close();
    }
    const options = ['--from', place, '--id', id, '--data-dir', into, ...opened];
    const { code, err } = await run('restore', options, databaseEnvironment(databaseUrl));
    expect([code, err]).toEqual([0, '']);
    const sql = new SQL(databaseUrl, { max: 1 });
    expect(await sql`SELECT username FROM users`.values()).toEqual([['root']]);
    await sql.close();
    expect(readdirSync(into).filter((name) => name.startsWith('taskgate'))).toEqual([]);
  });

  test('secrets that cannot be written down stop the restore into PostgreSQL before it ends', async () => {
    const databaseUrl = await testDatabaseUrl();
    const into = temporaryFolder();
    mkdirSync(join(into, 'secrets.restored.env'));
    const options = ['--from', place, '--id', id, '--data-dir', into, ...opened];
    const environment = databaseEnvironment(databaseUrl);
    const failed = await run('restore', options, environment);
    expect([failed.code, JSON.parse(failed.out).error]).toEqual([1, expect.stringContaining('secrets.restored.env')]);
    rmSync(join(into, 'secrets.restored.env'), { recursive: true });
    expect((await run('restore', options, environment)).code).toBe(0);
    expect(readFileSync(join(into, 'secrets.restored.env'), 'utf8')).toContain('CRYPTO_SECRET=');
  });

  test('secrets of the environment that cannot be written down stop the restore: they would be lost', async () => {
    const env = { SESSION_SECRET_PREVIOUS: 'a former session secret of the tests 0123456789' };
    const other = JSON.parse((await run('create', ['--to', place, '--data-dir', dataDir], env)).out).id as string;
    const into = temporaryFolder();
    // As an interrupted restore leaves it, and something that no file can replace.
    mkdirSync(join(into, 'taskgate.restoring'));
    mkdirSync(join(into, 'secrets.restored.env'));
    const options = ['--from', place, '--id', other, '--data-dir', into, ...opened];
    const { code, out } = await run('restore', options, { SESSION_SECRET: 'another session secret of the tests' });
    expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining('secrets.restored.env')]);
    expect(existsSync(join(into, 'taskgate.db'))).toBe(false);
  });

  test('secrets of another backup are refused', async () => {
    const other = JSON.parse((await create()).out).id as string;
    const copy = copyPlace();
    cpSync(join(copy, other, 'secrets.age'), join(copy, id, 'secrets.age'));
    const { secrets } = JSON.parse(readFileSync(join(copy, other, 'manifest.json'), 'utf8'));
    changeManifest(copy, (manifest) => Object.assign(manifest, { secrets }));
    const { code, out } = await restore(copy, join(folder, 'mixed'), ['--id', id]);
    expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining('belong to another backup')]);
  });

  test('a backup of a newer version is refused', async () => {
    const copy = copyPlace();
    changeManifest(copy, ({ database = {} }) => Object.assign(database, { migration: 9999 }));
    for (const { code, out } of [
      await restore(copy, join(folder, 'newer'), ['--id', id]),
      await verify(copy, ['--id', id]),
    ])
      expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining('newer version')]);
    changeManifest(copy, (manifest) => Object.assign(manifest, { format: 2, version: '9.0.0' }));
    const { out } = await restore(copy, join(folder, 'newer'), ['--id', id]);
    expect(JSON.parse(out).error).toContain('newer version 9.0.0');
    expect(existsSync(join(folder, 'newer'))).toBe(false);
  });

  test('a backup of an older version is migrated', async () => {
    const copy = copyPlace();
    const packed = join(copy, id, 'database.sqlite.zst');
    const older = temporaryFolder();
    writeFileSync(join(older, 'taskgate.db'), Bun.zstdDecompressSync(readFileSync(packed)));
    const database = databaseFor(older);
    database.run('pragma journal_mode = delete');
    database.run('drop table task_views');
    database.run("delete from schema_migrations where name like '%_task_views'");
    database.close();
    const plain = readFileSync(join(older, 'taskgate.db'));
    const bytes = Bun.zstdCompressSync(plain);
    writeFileSync(packed, bytes);
    const readPart = (content: Uint8Array) => ({
      bytes: content.length,
      sha256: new Bun.CryptoHasher('sha256').update(content).digest('hex'),
    });
    changeManifest(copy, ({ database: part = {} }) =>
      Object.assign(part, { ...readPart(bytes), migration: 29, unpacked: readPart(plain) }),
    );
    const into = join(folder, 'older');
    const { code, err } = await restore(copy, into, ['--id', id, '--without-secrets']);
    expect([code, err]).toEqual([0, '']);
    const restored = databaseFor(into);
    expect(restored.query('select count(*) from task_views').values()).toEqual([[0]]);
    restored.close();
    expect(readdirSync(into).filter((name) => name.includes('before'))).toEqual([]);
  });

  test('a part outside of its backup is not read', async () => {
    const copy = copyPlace();
    changeManifest(copy, ({ database = {} }) => Object.assign(database, { file: '../../passphrase' }));
    const { code, out } = await restore(copy, join(folder, 'outside'), ['--id', id]);
    expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining('damaged')]);
  });

  test('killed in the meantime, nothing starts on what it left, and the next run restores', async () => {
    const into = join(folder, 'interrupted');
    mkdirSync(join(into, 'taskgate.restoring'), { recursive: true });
    // As after a kill between the secrets and the database, which comes last.
    writeFileSync(join(into, 'taskgate.restoring', 'taskgate.db'), 'half');
    writeFileSync(join(into, 'secrets.json'), readFileSync(join(dataDir, 'secrets.json')));
    const started = await runCommand(['serve', '--port', '0', '--data-dir', into], {});
    expect([started.code, started.err]).toEqual([1, expect.stringContaining('has not ended')]);
    expect((await restore(place, into, ['--id', id])).code).toBe(0);
    expect(readdirSync(into).sort()).toEqual(['secrets.json', 'taskgate.db', 'taskgate.lock']);
  });
});

test('only the holder of the secret key, or somebody who knows the passphrase, restores the secrets', async () => {
  const other = join(folder, 'with-a-passphrase');
  const wrong = join(folder, 'wrong');
  writeFileSync(wrong, 'another passphrase\n');
  const made = ['backup', 'create', '--to', other, '--data-dir', dataDir];
  const { code, out, err } = await runCommand(made, { env: { BACKUP_PASSPHRASE_FILE: passphraseFile } });
  expect([code, out.includes('a passphrase'), err]).toEqual([0, false, '']);
  const into = join(folder, 'opened');
  const foreign = await makeBackupKey();
  for (const [from, means] of [
    [other, ['--passphrase-file', wrong]],
    [other, opened],
    [place, ['--passphrase-file', passphraseFile]],
    [place, ['--identity', foreign.identityFile]],
  ] as const) {
    const { code, out } = await restoreWith(means)(from, into);
    expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining('does not open')]);
    expect(existsSync(into)).toBe(false);
  }
  expect((await restoreWith(['--passphrase-file', passphraseFile])(other, into)).code).toBe(0);
});
