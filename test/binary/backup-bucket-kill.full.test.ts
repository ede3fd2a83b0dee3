/** A backup into a bucket whose server dies in the middle of an upload. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, spawnCommand } from '../support/run-command.ts';
import { S3_KEYS, type S3Server, startS3Server } from '../support/s3-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

let server: S3Server;
beforeAll(async () => {
  server = await startS3Server();
});
afterAll(() => server.stop());

test('says so, leaves no backup, and the next one is whole', async () => {
  const dataDir = join(temporaryFolder(), 'data');
  const passphrase = join(temporaryFolder(), 'passphrase');
  writeFileSync(passphrase, 'a passphrase of a test\n');
  const root = ['admin', 'create-root', '--username', 'root', '--password-stdin', '--data-dir', dataDir];
  expect((await runCommand(root, { stdin: 'correct horse battery' })).code).toBe(0);
  const database = new Database(join(dataDir, 'taskgate.db'));
  // Large, and hard to compress: an upload of many parts.
  for (let n = 0; n < 120; n += 1)
    database.run('insert into options (key, value) values (?, hex(randomblob(1048576)))', [`large-${n}`]);
  const env = {
    BACKUP_TO: `s3://results/backups?endpoint=${server.url}`,
    BACKUP_PASSPHRASE_FILE: passphrase,
    BACKUP_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
    BACKUP_S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
  };
  const backup = (word: string) => ['backup', word, '--json', '--data-dir', dataDir];

  const child = spawnCommand(backup('create'), { env });
  const uploads = join(server.folder, '.sgwtmp', 'multipart');
  await until('parts arrive', () => existsSync(uploads) && readdirSync(uploads, { recursive: true }).length > 2);
  await server.kill();
  const said = await new Response(child.stdout).text();
  expect([await child.exited, JSON.parse(said).error]).toEqual([1, expect.stringContaining('s3://results/backups')]);
  expect(said).not.toContain(S3_KEYS.secretAccessKey);
  const runs = () => database.query('select status from backup_runs order by started_at, id').values().flat();
  expect(runs()).toEqual(['failed']);
  expect(existsSync(join(dataDir, 'taskgate.backup'))).toBe(false);

  await server.start();
  expect(JSON.parse((await runCommand(backup('list'), { env })).out).backups).toEqual([]);
  const made = await runCommand(backup('create'), { env });
  expect([made.code, made.err]).toEqual([0, '']);
  expect(JSON.parse((await runCommand(backup('list'), { env })).out).backups).toHaveLength(1);
  const verified = await runCommand(backup('verify'), { env });
  expect([verified.code, verified.err]).toEqual([0, '']);
  database.close();
});
