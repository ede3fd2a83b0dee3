/** `taskgate secrets rotate`: secrets of the data directory, and two nodes on PostgreSQL. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecretBox, type SecretBox } from '../../src/kernel/index.ts';
import { GIVE_WALLETS } from '../support/backdoor.ts';
import { startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { SAMPLE_KEYS, SAMPLE_PASSWORDS, sampleFile } from '../support/new-api-source.ts';
import { runCommand, SECRETS, spawnCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

test('generated secrets replace those of the file while nobody serves, and all values follow', async () => {
  const dataDir = join(temporaryFolder(), 'data');
  await runCommand(['import', 'new-api', '--from', sampleFile(), '--data-dir', dataDir]);
  const gateway = await startGateway({ dataDir });
  const refused = await runCommand(['secrets', 'rotate', '--generate', '--data-dir', dataDir]);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('is running')]);
  await gateway.stop();

  const read = () => JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8'));
  const before = read();
  const left = join(dataDir, 'secrets.json.a-killed-run.tmp');
  writeFileSync(left, '{}');
  const done = await runCommand(['secrets', 'rotate', '--generate', '--data-dir', dataDir, '--json']);
  expect([done.code, done.err, existsSync(left)]).toEqual([0, '', false]);
  const { columns } = JSON.parse(done.out) as { columns: { column: string; resealed: number }[] };
  expect(columns.find(({ column }) => column === 'credentials.key_sealed')?.resealed).toBe(15);
  expect(read()).toMatchObject({
    session_secret_previous: [before.session_secret],
    crypto_secret_previous: [before.crypto_secret],
  });
  for (const secret of [before.crypto_secret, read().crypto_secret]) expect(done.out).not.toContain(secret);

  const again = await startGateway({ dataDir });
  const body = JSON.stringify({ username: 'root', password: SAMPLE_PASSWORDS.root });
  const headers = { 'content-type': 'application/json' };
  expect((await fetch(`${again.url}/api/user/login`, { method: 'POST', headers, body })).status).toBe(200);
  await again.stop();
  expect((await runCommand(['doctor', '--data-dir', dataDir])).code).toBe(0);
});

test('beside two nodes: refused until both know the secret, then doctor needs the former one no more', async () => {
  const databaseUrl = await migratedDatabaseUrl();
  const dataDir = temporaryFolder();
  const NEW = 'a new crypto secret of the tests 0123456789';
  const command = (argv: string[], env: Record<string, string>) =>
    runCommand([...argv, '--data-dir', dataDir], { env: { DATABASE_URL: databaseUrl, ...SECRETS, ...env } });
  const both = { CRYPTO_SECRET: NEW, CRYPTO_SECRET_PREVIOUS: SECRETS.CRYPTO_SECRET };
  expect((await command(['import', 'new-api', '--from', sampleFile()], {})).code).toBe(0);
  expect((await command(['doctor'], { CRYPTO_SECRET: NEW })).code).toBe(1);

  const first = await startGateway({ databaseUrl, env: both });
  const second = await startGateway({ databaseUrl });
  expect(await command(['secrets', 'rotate'], both)).toMatchObject({
    code: 1,
    err: expect.stringContaining('does not know this CRYPTO_SECRET'),
  });
  await second.stop();
  const third = await startGateway({ databaseUrl, env: { CRYPTO_SECRET_PREVIOUS: NEW } });
  try {
    expect(
      (
        await command(['secrets', 'rotate'], {
          CRYPTO_SECRET: NEW,
          CRYPTO_SECRET_PREVIOUS: 'another secret, and a wrong one',
        })
      ).code,
    ).toBe(1);
    const done = await command(['secrets', 'rotate'], both);
    expect([done.code, done.err]).toEqual([0, '']);
    for (const { url } of [first, third]) {
      const models = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${SAMPLE_KEYS.alice}` } });
      expect(await models.text()).toContain('kling-v1');
    }
    expect((await command(['doctor'], { CRYPTO_SECRET: NEW })).code).toBe(0);
  } finally {
    await first.stop();
    await third.stop();
  }
});

test('killed in the middle, it leaves every value readable, and the next run ends it', async () => {
  const dataDir = temporaryFolder();
  const gateway = await startGateway({ dataDir, env: SECRETS });
  await gateway.stop();
  const NEW = 'a new crypto secret of the tests 0123456789';
  const boxes = {
    former: createSecretBox([SECRETS.CRYPTO_SECRET]),
    both: createSecretBox([NEW, SECRETS.CRYPTO_SECRET]),
    current: createSecretBox([NEW]),
  };
  const rows = 5000;
  const db = new Database(join(dataDir, 'taskgate.db'));
  const user = db.query('insert into users (id, username, role, status, created_at) values (?, ?, 1, 1, 5)');
  const factor = db.query('insert into two_factor (user_id, secret_sealed, enabled, created_at) values (?, ?, 1, 5)');
  db.transaction(() => {
    for (let id = 100; id < 100 + rows; id += 1) {
      user.run(id, `user${id}`);
      factor.run(id, boxes.former.seal(`secret of ${id}`));
    }
    db.run(GIVE_WALLETS);
  })();
  const opened = (box: SecretBox): number =>
    (db.query('select user_id, secret_sealed from two_factor').values() as [number, string][]).filter(
      ([id, sealed]) => box.open(sealed) === `secret of ${id}`,
    ).length;
  const command = (argv: string[], env: Record<string, string>) =>
    [[...argv, '--data-dir', dataDir], { env: { ...SECRETS, ...env } }] as const;
  const rotating = { CRYPTO_SECRET: NEW, CRYPTO_SECRET_PREVIOUS: SECRETS.CRYPTO_SECRET };

  const child = spawnCommand(...command(['secrets', 'rotate'], rotating));
  await until('some values are resealed', () => opened(boxes.current) > 0);
  child.kill('SIGKILL');
  await child.exited;
  const done = opened(boxes.current);
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThan(rows);
  expect(opened(boxes.both)).toBe(rows);
  expect((await runCommand(...command(['doctor'], rotating))).code).toBe(0);
  expect(await runCommand(...command(['doctor'], { CRYPTO_SECRET: NEW }))).toMatchObject({
    code: 1,
    out: expect.stringContaining(`${rows - done} users`),
  });

  expect((await runCommand(...command(['secrets', 'rotate'], rotating))).code).toBe(0);
  expect(opened(boxes.current)).toBe(rows);
  expect((await runCommand(...command(['doctor'], { CRYPTO_SECRET: NEW }))).code).toBe(0);
  db.close();
});
