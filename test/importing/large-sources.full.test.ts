/** A source of 100,000 accounts, and one on MariaDB, by the executable. */
import { Database } from 'bun:sqlite';
import { expect, setDefaultTimeout, test } from 'bun:test';
import { SQL } from 'bun';
import { startMysql } from '../support/mysql.ts';
import { copySample, sampleFile } from '../support/new-api-source.ts';
import { runCommand, spawnCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// The test measures processor time; on a busy machine the import waits for others.
setDefaultTimeout(3_600_000);

const USERS = 100_000;
const MAX_SECONDS = 120;
const MAX_MB = 400;

test(`${USERS} accounts with two keys each take less than ${MAX_SECONDS} s of a core and ${MAX_MB} MB`, async () => {
  const file = sampleFile();
  const source = new Database(file);
  source.run(`insert into users (id, username, password, email, role, status, quota, github_id)
    with recursive n (i) as (select 1000 union all select i + 1 from n where i < ${999 + USERS})
    select i, 'user-' || i, (select password from users where id = 2), 'user-' || i || '@example.test', 1, 1, i, '5' || i from n`);
  source.run(`insert into tokens (user_id, key, status, name, expired_time, remain_quota, unlimited_quota)
    select id, substr(lower(hex(randomblob(24))), 1, 48), 1, 'key', -1, 500, 0 from users join (select 1 union all select 2) where id >= 1000`);
  source.close();
  const dataDir = temporaryFolder();
  const child = spawnCommand(['import', 'new-api', '--from', file, '--data-dir', dataDir, '--json'], { cwd: dataDir });
  const out = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  // Processor time: other work on the machine does not count.
  const seconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000;
  const megabytes = (child.resourceUsage()?.maxRSS ?? 0) / 1_000_000;
  console.log(`import of ${USERS} accounts: ${seconds.toFixed(0)} s of a core, ${megabytes.toFixed(0)} MB`);
  expect(JSON.parse(out).taken).toMatchObject({ user: USERS + 9, api_key: 2 * USERS + 12 });
  expect(seconds).toBeLessThan(MAX_SECONDS);
  expect(megabytes).toBeLessThan(MAX_MB);
  expect((await runCommand(['doctor', '--data-dir', dataDir])).out).toContain(
    'every balance is the sum of its ledger lines',
  );
});

test('MariaDB gives what the file gives', async () => {
  const mysql = await startMysql();
  try {
    const server = new SQL({ url: mysql.url, adapter: 'mysql', max: 1 });
    await copySample(server, 'mysql');
    await server.close();
    const dataDir = temporaryFolder();
    const read = async (from: string) => {
      const done = await runCommand([
        'import',
        'new-api',
        '--from',
        from,
        '--dry-run',
        '--json',
        '--data-dir',
        dataDir,
      ]);
      expect(done.err).toBe('');
      return JSON.parse(done.out);
    };
    expect((await runCommand(['migrate', '--data-dir', dataDir])).code).toBe(0);
    const { source, ...fromFile } = await read(sampleFile());
    const { source: server2, ...fromServer } = await read(mysql.url);
    expect(fromServer).toEqual(fromFile);
    expect([source.key, source.kind, server2.kind]).toEqual([server2.key, 'sqlite', 'mysql']);
    const url = new URL(mysql.url);
    const { source: go } = await read(`root:@tcp(127.0.0.1:${url.port})/gate?charset=utf8mb4&parseTime=true`);
    expect(go.key).toBe(source.key);
  } finally {
    await mysql.stop();
  }
});
