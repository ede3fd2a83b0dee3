/** People and programs of a new-api gateway go on here with what they had. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { databaseVersion } from '../../src/store/index.ts';
import { startGateway } from '../support/gateway.ts';
import { SAMPLE_KEYS, SAMPLE_PASSWORDS, sampleFile } from '../support/new-api-source.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { runCommand, SECRETS } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a report goes to a pipe or a device too, whose mode stays', async () => {
  const folder = temporaryFolder();
  const pipe = join(folder, 'pipe');
  expect(Bun.spawnSync(['mkfifo', '-m', '644', pipe]).exitCode).toBe(0);
  const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    const command = ['import', 'new-api', '--dry-run', '--from', sampleFile(), '--data-dir', join(folder, 'data')];
    expect(await runCommand([...command, '--report', pipe])).toMatchObject({ code: 0, err: '' });
    const bytes = Buffer.alloc(64 * 1024);
    expect(JSON.parse(bytes.toString('utf8', 0, readSync(reader, bytes))).taken.api_key).toBe(12);
    expect(statSync(pipe).mode & 0o777).toBe(0o644);
  } finally {
    closeSync(reader);
  }
});

test('after an import old passwords and keys work, and a second one beside the gateway changes nothing', async () => {
  const dataDir = join(temporaryFolder(), 'data');
  const source = sampleFile();
  const digest = Bun.hash(readFileSync(source));
  const report = join(temporaryFolder(), 'report.json');
  const command = ['import', 'new-api', '--from', source, '--data-dir', dataDir];
  expect(await runCommand([...command, '--dry-run'])).toMatchObject({ code: 0, err: '' });
  expect(existsSync(dataDir)).toBeFalse();

  const done = await runCommand([...command, '--report', report]);
  expect([done.code, done.err]).toEqual([0, '']);
  expect(done.out).toContain('users: 9 taken, 1 left');
  expect(statSync(report).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(report, 'utf8')).taken.api_key).toBe(12);
  expect(Bun.hash(readFileSync(source))).toBe(digest);

  const gateway = await startGateway({ dataDir });
  try {
    expect(gateway.setupUrl).toBeUndefined();
    const logIn = async (username: string, password: string) => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${gateway.url}/api/user/login`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ username, password }),
      });
      return { status: response.status, body: JSON.stringify(await response.json()) };
    };
    const hashFor = (name: string) => {
      const database = new Database(join(dataDir, 'taskgate.db'), { readonly: true });
      const row = database.query('select password_hash as hash from users where username = ?').get(name) as {
        hash: string;
      };
      database.close();
      return row.hash.split('$')[1];
    };
    expect(hashFor('alice')).toBe('2a');
    expect((await logIn('alice', 'Alice-pass-0002')).status).toBe(401);
    expect(hashFor('alice')).toBe('2a');
    expect((await logIn('Alice@Example.test', SAMPLE_PASSWORDS.alice)).status).toBe(200);
    expect(hashFor('alice')).toBe('argon2id');
    expect((await logIn('alice', SAMPLE_PASSWORDS.alice)).status).toBe(200);
    expect((await logIn('root', SAMPLE_PASSWORDS.root)).status).toBe(200);
    expect((await logIn('frank', SAMPLE_PASSWORDS.frank)).body).toMatch(/two_factor|2fa/i);
    expect((await logIn('dave', 'Dave-pass-0001')).status).toBe(401);

    const models = (key: string) => fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    const listed = await (await models(SAMPLE_KEYS.alice)).text();
    expect(listed).toContain('kling-v1');
    const statuses = await Promise.all(
      [SAMPLE_KEYS.expired, SAMPLE_KEYS.dave].map(async (key) => (await models(key)).status),
    );
    expect(statuses).toEqual([401, 401]);

    const again = await runCommand([...command, '--json']);
    expect([again.code, JSON.parse(again.out).taken]).toEqual([0, {}]);
    const doctor = await runCommand(['doctor', '--data-dir', dataDir]);
    expect(doctor.out).toContain('every balance is the sum of its ledger lines');
    expect(doctor.code).toBe(0);
  } finally {
    await gateway.stop();
  }
});

test('a dry run works where no gateway has been, and leaves nothing there', async () => {
  const dataDir = join(temporaryFolder(), 'new');
  const databaseUrl = await testDatabaseUrl();
  const target: Record<string, string>[] = [{}, { DATABASE_URL: databaseUrl, ...SECRETS }];
  for (const env of target) {
    const command = ['import', 'new-api', '--from', sampleFile(), '--dry-run', '--json', '--data-dir', dataDir];
    const { code, out, err } = await runCommand(command, { env: { ...env, TMPDIR: temporaryFolder() } });
    expect([code, err, JSON.parse(out).taken.user]).toEqual([0, '', 9]);
    expect(existsSync(dataDir)).toBe(false);
  }
  expect(await databaseVersion({ databaseUrl, dataDir })).toBe(0);
});

test('an address that cannot be used is named without its password', async () => {
  const dataDir = temporaryFolder();
  const run = (from: string, stdin = '') =>
    runCommand(['import', 'new-api', '--from', from, '--data-dir', dataDir], { stdin });
  expect(await run('oracle://u:secret-word@host/db')).toMatchObject({ code: 2 });
  const refused = await run('-', 'postgres://u:secret-word@127.0.0.1:1/db\n');
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('the source cannot be opened');
  expect(refused.err).not.toContain('secret-word');
});
