/**
 * `move-database` killed again and again, to PostgreSQL and back: it goes on, and tasks that run or
 * wait end in the other database.
 */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Administrator, type Gateway, setUp, signIn, startGateway, startVendor } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { runCommand, spawnCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const USERS = 30_000;
const FIRST_ID = 1_000_000;
const KILLS = 8;

const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** A database, by the environment and the folder of its gateway. */
type Place = { env: Record<string, string>; dataDir: string };

const words = (from: Place, to: string) => ['move-database', '--json', '--data-dir', from.dataDir, '--to', to];

/** Kills the move at moments that come later each time; says how often it was still at work. */
async function killMoves(from: Place, to: string): Promise<number> {
  let killed = 0;
  for (let round = 0; round < KILLS; round += 1) {
    const child = spawnCommand(words(from, to), { env: from.env });
    await Promise.race([child.exited, Bun.sleep(150 + 250 * round)]);
    child.kill('SIGKILL');
    await child.exited;
    if (child.signalCode === 'SIGKILL') killed += 1;
  }
  return killed;
}

async function move(from: Place, to: string): Promise<void> {
  expect(await killMoves(from, to)).toBeGreaterThan(2);
  const moved = await runCommand(words(from, to), { env: from.env });
  if (moved.code === 0) expect(JSON.parse(moved.out)).toMatchObject({ ok: true, resumed: true });
  // The last kill may have come when all was done.
  else expect(moved.out + moved.err).toContain('closed for good');
  const closed = await runCommand(['serve', '--port', '0', '--data-dir', from.dataDir], { env: from.env });
  expect([closed.code, closed.err]).toEqual([1, expect.stringContaining('closed for good')]);
}

async function checkWhole(place: Place): Promise<void> {
  const doctor = await runCommand(['doctor', '--data', '--json', '--data-dir', place.dataDir], { env: place.env });
  const { findings } = JSON.parse(doctor.out) as { findings: { level: string; check: string; message: string }[] };
  expect(findings.filter(({ level, check }) => level === 'error' && check !== 'backup')).toEqual([]);
}

test('killed again and again, it goes on; what ran and what waited ends there', async () => {
  const vendor = await startVendor();
  closers.push(() => vendor.stop());
  const first = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  let gateway: Gateway = first;
  closers.push(() => gateway.stop());
  const admin: Administrator = await setUp(first);
  await admin.createChannel(vendor.url, { limits: { max_running: 1 } });
  const key = await admin.createKey();
  const ids: string[] = [];
  for (const duration of [40, 0.3]) {
    const { body } = await submit(first.url, key, { prompt: `a heron [duration=${duration}]` });
    ids.push(String(body.id ?? body.task_id));
  }
  const balance = await admin.quota();
  expect(await first.stop()).toBe(0);
  addUsers(first.dataDir);

  const secrets = JSON.parse(readFileSync(join(first.dataDir, 'secrets.json'), 'utf8')) as Record<string, string>;
  const env = { SESSION_SECRET: secrets.session_secret ?? '', CRYPTO_SECRET: secrets.crypto_secret ?? '' };
  const sqlite: Place = { env: {}, dataDir: first.dataDir };
  const databaseUrl = await testDatabaseUrl();
  const postgres: Place = { env: { ...env, DATABASE_URL: databaseUrl }, dataDir: first.dataDir };
  await move(sqlite, databaseUrl);
  await checkWhole(postgres);

  gateway = await startGateway({ dataDir: first.dataDir, env: { ...postgres.env, TASK_POLL_INTERVAL_SECONDS: '1' } });
  expect(await (await signIn(gateway.url)).quota()).toBeLessThanOrEqual(balance);
  for (const id of ids) expect((await waitForEnd(gateway.url, key, id)).status).toBe('SUCCESS');
  expect(await vendor.stats()).toMatchObject({ creates: 2, duplicate_references: {} });
  await gateway.stop();

  const back: Place = { env, dataDir: temporaryFolder() };
  await move(postgres, back.dataDir);
  await checkWhole(back);
  gateway = await startGateway({ dataDir: back.dataDir, env });
  for (const id of ids) expect((await waitForEnd(gateway.url, key, id)).status).toBe('SUCCESS');
});

/** So many that the move takes seconds. */
function addUsers(dataDir: string): void {
  const database = new Database(join(dataDir, 'taskgate.db'));
  database.run(
    `insert into users (id, username, role, status, created_at)
      with recursive n (i) as (select ${FIRST_ID} union all select i + 1 from n where i < ${FIRST_ID + USERS - 1})
      select i, 'user-' || i, 1, 1, 5 from n`,
  );
  database.run('insert into wallets (user_id, created_at) select id, created_at from users where id >= ?', [FIRST_ID]);
  database.close();
}
