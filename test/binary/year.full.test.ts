/**
 * A year's accidents, each made on purpose: what people get to read, and the way back. The commands
 * are those of docs/operating/incidents.md and upgrade.md, word for word.
 */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  type Administrator,
  ask,
  type Gateway,
  ROOT,
  setUp,
  signIn,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { readBlocks } from '../support/guide-terminal.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { BINARY, runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const page = (name: string) => readFileSync(new URL(`../../docs/operating/${name}`, import.meta.url), 'utf8');
const NEW_PASSWORD = 'a new and long password';

/** The commands under a heading, in their order. */
function commandsUnder(guide: string, heading: string): { line: string; prints: string }[] {
  const [, section = ''] = new RegExp(`^## ${heading}\\n([\\s\\S]*?)(?=^## |(?![\\s\\S]))`, 'm').exec(guide) ?? [];
  return readBlocks(section).flatMap(({ commands }) => commands);
}

const folder = temporaryFolder();
const bin = join(folder, 'bin');
let vendor: VendorProcess;
let gateway: Gateway;
let root: Administrator;
let key = '';
let channel = 0;

beforeAll(async () => {
  mkdirSync(bin);
  symlinkSync(BINARY, join(bin, 'taskgate'));
  vendor = await startVendor();
  await start();
  root = await setUp(gateway);
  channel = await root.createChannel(vendor.url);
  key = await root.createKey();
  const { body } = await submit(gateway.url, key, {});
  await waitForEnd(gateway.url, key, String(body.id));
});
afterAll(async () => {
  await gateway?.kill();
  await vendor?.stop();
});

async function start(dataDir?: string): Promise<void> {
  gateway = await startGateway({ env: { SYNC_FREQUENCY: '1' }, ...(dataDir === undefined ? {} : { dataDir }) });
}

/** Runs a command of the guide as an operator would, and compares what it prints. */
function run({ line, prints }: { line: string; prints: string }, env: Record<string, string> = {}) {
  const ran = Bun.spawnSync(['bash', '-euo', 'pipefail', '-c', line], {
    env: { PATH: `${bin}:${process.env.PATH}`, HOME: folder, DATA_DIR: gateway.dataDir, GATE: gateway.url, ...env },
    stderr: 'pipe',
  });
  const out = ran.stdout.toString();
  const pattern = prints.trim().split('…').map(RegExp.escape).join('[\\s\\S]*?');
  expect(out, `${line}\n${ran.stderr}`).toMatch(new RegExp(`^${pattern}`));
  return { code: ran.exitCode, out, err: ran.stderr.toString() };
}

const incident = (heading: string) => commandsUnder(page('incidents.md'), heading);

test('every command of the chapter is run here', () => {
  const headings = [...page('incidents.md').matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
  const withCommands = headings.filter((heading) => incident(heading).length > 0);
  expect(withCommands).toEqual([
    'Close the gateway while you work',
    'A leaked API key',
    'A leaked backup, passphrase or secret',
    'A locked-out root',
    'A damaged database',
    'A full disk',
    'A vendor is down',
    'A vendor bills twice',
  ]);
});

test('the gateway is closed for new work and opened again', async () => {
  const [close, status, open] = incident('Close the gateway while you work');
  expect(run(close as never).code).toBe(0);
  await until('it is closed', async () => (await submit(gateway.url, key, {})).status === 503);
  expect(run(status as never).code).toBe(0);
  expect(run(open as never).code).toBe(0);
  await until('it is open', async () => (await submit(gateway.url, key, {})).status === 200);
});

test('a leaked key is found by its beginning, with who used it last, and disabled; its owner stays signed in', async () => {
  const userId = await root.createUser({ username: 'ada' });
  const ada = await signIn(gateway.url, { username: 'ada' });
  const leaked = await ada.createKey();
  const { token } = await root.call<{ token: string }>('POST', '/api/user/token');
  const [find, disable] = incident('A leaked API key');
  const env = { TOKEN: token, KEY_BEGIN: leaked.slice(0, 10), USER_ID: String(userId) };
  type Found = { id: number; user_id: number; last_used_ip: string };
  const look = () => JSON.parse(run(find as never, env).out).data as Found[];
  expect(look()).toMatchObject([{ user_id: userId, last_used_ip: '' }]);
  await ask(`${gateway.url}/v1/models`, { token: leaked, headers: { 'x-forwarded-for': '2001:db8::7' } });
  await until('its last use is stored', () => look()[0]?.last_used_ip === '2001:db8::7');
  const found = look();
  run(disable as never, { ...env, KEY_ID: String(found[0]?.id) });
  expect((await ask(`${gateway.url}/v1/models`, { token: leaked })).status).toBe(401);
  expect(await ada.quota()).toBeGreaterThanOrEqual(0);
});

test('the way to a vendor is told step by step', () => {
  const [trace] = incident('A vendor is down');
  const { code, out } = run(trace as never, { CHANNEL: String(channel) });
  expect(code).toBe(0);
  expect(out).toContain('The vendor responded');
});

test('a vendor that bills twice, and a job that nobody here knows, are named', async () => {
  const [reconcile] = incident('A vendor bills twice');
  const { items } = await root.call<{ items: { upstream_task_id: string; status: string }[] }>(
    'GET',
    '/api/task?scope=all&status=SUCCESS',
  );
  const ids = items.map(({ upstream_task_id: id }) => id);
  expect(ids.every((id) => id !== '')).toBe(true);
  const csv = join(folder, 'vendor.csv');
  const env = { VENDOR_CSV: csv, CHANNEL: String(channel) };
  writeFileSync(csv, `job_id,cost\n${[...ids, ids[0], 'bought-by-nobody'].map((id) => `${id},0.5`).join('\n')}\n`);
  const { code, out } = run(reconcile as never, env);
  expect(code).toBe(1);
  expect(out).toContain('1 only at the vendor: nobody here was billed:\n  bought-by-nobody (0.5)');
  expect(out).toContain(`1 listed more than once by the vendor:\n  ${ids[0]}, 2 times`);
  const found = await root.call<{ items: unknown[] }>('GET', `/api/task?scope=all&q=${ids[0]}`);
  expect(found.items).toHaveLength(1);
});

test('a locked-out root comes back in', async () => {
  const [reset] = incident('A locked-out root');
  expect(run(reset as never).code).toBe(0);
  root = await signIn(gateway.url, { ...ROOT, password: NEW_PASSWORD });
});

test('leaked secrets are replaced, and everything that they sealed can still be read', async () => {
  await gateway.stop();
  const [rotate] = incident('A leaked backup, passphrase or secret');
  expect(run(rotate as never).code).toBe(0);
  const file = join(gateway.dataDir, 'secrets.json');
  const { session_secret_previous, crypto_secret_previous, ...left } = JSON.parse(readFileSync(file, 'utf8'));
  expect([session_secret_previous, crypto_secret_previous].map((former) => former.length)).toEqual([1, 1]);
  writeFileSync(file, JSON.stringify(left));
  await start(gateway.dataDir);
  root = await signIn(gateway.url, { ...ROOT, password: NEW_PASSWORD });
  const { body } = await submit(gateway.url, key, {});
  expect((await waitForEnd(gateway.url, key, String(body.id))).status).toBe('SUCCESS');
});

test('a disk without trouble passes the check of the chapter', () => {
  const [doctor] = incident('A full disk');
  expect(run(doctor as never).code).toBe(0);
});

/** Overwrites a page of the timeline, which no start reads. */
function breakPage(dataDir: string): void {
  const path = join(dataDir, 'taskgate.db');
  const file = new Database(path);
  file.query('pragma wal_checkpoint(truncate)').values();
  const [[root]] = file.query("select rootpage from sqlite_master where name = 'task_events'").values() as [[number]];
  const [[size]] = file.query('pragma page_size').values() as [[number]];
  file.close();
  const bytes = openSync(path, 'r+');
  writeSync(bytes, Buffer.alloc(size, 0xff), 0, size, (root - 1) * size);
  closeSync(bytes);
}

test('a broken page: the check finds it, and what can be read goes on as the database', async () => {
  const balance = await root.quota();
  await gateway.stop();
  breakPage(gateway.dataDir);
  const [check, salvage, put, doctor] = incident('A damaged database');
  const checked = run(check as never);
  expect([checked.code, checked.out]).toEqual([
    1,
    expect.stringContaining('ERROR    database: the database is damaged'),
  ]);
  const env = { SALVAGED: join(folder, 'salvaged') };
  const salvaged = run(salvage as never, env);
  expect(salvaged.out).toMatch(/task_events: \d+ rows? read, 1 stretch was not readable/);
  expect(run(put as never, env).code).toBe(0);
  expect(run(doctor as never).out).toContain('every balance is the sum of its ledger lines');
  await start(gateway.dataDir);
  root = await signIn(gateway.url, { ...ROOT, password: NEW_PASSWORD });
  expect(await root.quota()).toBe(balance);
  const { body } = await submit(gateway.url, key, {});
  expect((await waitForEnd(gateway.url, key, String(body.id))).status).toBe('SUCCESS');
});

test('a database of noise, and one whose log was cut: the start says what is right', async () => {
  await gateway.stop();
  const copy = join(folder, 'noise');
  cpSync(gateway.dataDir, copy, { recursive: true });
  writeFileSync(join(copy, 'taskgate.db'), 'x'.repeat(8192));
  const { code, err } = await runCommand(['serve', '--port', '0', '--data-dir', copy]);
  expect(code).toBe(1);
  expect(err).toContain('is damaged');
  expect(err).toContain('"taskgate backup restore --from PLACE"');
  expect(err).toContain('taskgate salvage --to NEW_FOLDER');

  await start(gateway.dataDir);
  await submit(gateway.url, key, {});
  await gateway.kill();
  const log = join(gateway.dataDir, 'taskgate.db-wal');
  truncateSync(log, statSync(log).size - 100);
  const doctor = await runCommand(['doctor', '--data', '--data-dir', gateway.dataDir]);
  expect(doctor.out).toContain('it was cut');
  await start(gateway.dataDir);
});

test('lost secrets are refused, and the way on is named', async () => {
  await gateway.stop();
  const copy = join(folder, 'without-secrets');
  cpSync(gateway.dataDir, copy, { recursive: true });
  rmSync(join(copy, 'secrets.json'));
  const { code, err } = await runCommand(['serve', '--port', '0', '--data-dir', copy]);
  expect([code, err]).toEqual([1, expect.stringContaining('REPLACE_LOST_SECRETS=true')]);
});

test('the gateway moves to PostgreSQL with all it has, and the former database stays closed', async () => {
  const [move] = commandsUnder(page('upgrade.md'), 'Between SQLite and PostgreSQL');
  const databaseUrl = await testDatabaseUrl();
  const secrets = JSON.parse(readFileSync(join(gateway.dataDir, 'secrets.json'), 'utf8')) as Record<string, string>;
  expect(run(move as never, { NEW_DATABASE_URL: databaseUrl }).code).toBe(0);
  const former = await runCommand(['serve', '--port', '0', '--data-dir', gateway.dataDir]);
  expect([former.code, former.err]).toEqual([1, expect.stringContaining('closed for good')]);
  const env = { SESSION_SECRET: secrets.session_secret ?? '', CRYPTO_SECRET: secrets.crypto_secret ?? '' };
  gateway = await startGateway({ databaseUrl, dataDir: gateway.dataDir, env });
  root = await signIn(gateway.url, { ...ROOT, password: NEW_PASSWORD });
  const { body } = await submit(gateway.url, key, {});
  expect((await waitForEnd(gateway.url, key, String(body.id))).status).toBe('SUCCESS');
});
