/**
 * The compiled binary in bad surroundings: disk, port, folder, configuration, an earlier process, a
 * later version.
 */
import { Database } from 'bun:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { launchBrowser, openPage } from '../support/browser.ts';
import { listChildren } from '../support/child-processes.ts';
import { freePort } from '../support/free-port.ts';
import {
  type Administrator,
  ask,
  type Gateway,
  type GatewayOptions,
  letNothingWait,
  ROOT,
  setUp,
  signIn,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { startHoldingProxy } from '../support/holding-proxy.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { BINARY, type CommandOptions, type CommandResult, runBeside, runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const gateways: Gateway[] = [];
let vendor: VendorProcess;

beforeAll(async () => {
  vendor = await startVendor();
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.kill();
});
afterAll(async () => {
  await vendor?.stop();
});

async function start(options: GatewayOptions = {}): Promise<Gateway> {
  const gateway = await startGateway({ ...options, env: { TASK_POLL_INTERVAL_SECONDS: '1', ...options.env } });
  gateways.push(gateway);
  return gateway;
}

const serve = async (dataDir: string, options: CommandOptions = {}, port?: number) =>
  runCommand(['serve', '--port', String(port ?? (await freePort())), '--data-dir', dataDir], options);

/** Exit 1 with a message for people: no stack trace, no names of source files. */
function expectPlainRefusal({ code, err }: CommandResult, ...says: (string | RegExp)[]): void {
  expect([code, err]).toEqual([1, expect.any(String)]);
  for (const text of says) expect(err).toMatch(text);
  expect(err).not.toMatch(/^\s+at /m);
  expect(err).not.toContain('unexpected error');
}

async function prepare(gateway: Gateway, vendorUrl = vendor.url): Promise<{ admin: Administrator; key: string }> {
  const admin = await setUp(gateway);
  await admin.createChannel(vendorUrl);
  await admin.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' });
  return { admin, key: await admin.createKey() };
}

const isReady = ({ url }: Gateway) =>
  until('all parts are ready', async () => (await ask(`${url}/readyz`)).status === 200);

const inText = (text: string): RegExp => new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));

describe('a start that cannot succeed exits 1 and says what to do', () => {
  test('a port in use', async () => {
    const gateway = await start();
    const folder = temporaryFolder();
    expectPlainRefusal(await serve(folder, {}, gateway.port), `port ${gateway.port} on 127.0.0.1 is in use`, /--port/);
    await isReady(gateway);
  });

  test('a data directory without write permission', async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o555);
    const prefix: string[] = [];
    let program = BINARY;
    // Permissions do not bind root, so this runs as an unprivileged user with a copy of the program
    // that they may read.
    if (process.getuid?.() === 0) {
      const own = temporaryFolder();
      chmodSync(own, 0o755);
      program = join(own, 'taskgate');
      copyFileSync(BINARY, program);
      chmodSync(program, 0o755);
      chownSync(folder, 0, 0);
      prefix.push('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups');
    }
    const refused = await serve(folder, { prefix, program: [program] });
    expectPlainRefusal(refused, inText(folder), /no permission to write/, /--data-dir/);
    const below = await serve(join(folder, 'below'), { prefix, program: [program] });
    expectPlainRefusal(below, /no permission to write/);
  });

  test('a file where the data directory should be', async () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, 'x');
    expectPlainRefusal(await serve(file), inText(file), /--data-dir/);
    expect(readFileSync(file, 'utf8')).toBe('x');
  });

  test('a second gateway on the data directory', async () => {
    const gateway = await start();
    const { admin } = await prepare(gateway);
    expectPlainRefusal(await serve(gateway.dataDir), /Another gateway is running/, inText(gateway.dataDir));
    expect(await admin.quota()).toBeGreaterThan(0);
  });

  test('bad values are all named, with what is allowed, and no secret is repeated', async () => {
    const env = {
      NODE_ROLE: 'boss',
      TASK_POLL_INTERVAL_SECONDS: '0',
      SESSION_SECRET: 'hunter2',
      SESSION_COOKIE_TRUSTED_URL: 'https://gate.example/',
      LOG_LEVEL: 'loud',
    };
    const refused = await serve(temporaryFolder(), { env });
    expectPlainRefusal(refused, ...Object.keys(env).map((name) => new RegExp(`${name}: `)));
    expectPlainRefusal(refused, /NODE_ROLE: read "boss"; allowed: master, worker/);
    expect(refused.err + refused.out).not.toContain('hunter2');
  });

  test('a wrong flag is exit 2', async () => {
    const wrong = await runCommand(['serve', '--prot', '1']);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain('--prot');
  });

  test('a database newer than the binary, which is left unchanged', async () => {
    const gateway = await start();
    await gateway.stop();
    const file = join(gateway.dataDir, 'taskgate.db');
    const database = new Database(file);
    database.run("INSERT INTO schema_migrations (number, name, applied_at) VALUES (9999, '9999_future', 1)");
    database.run('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    const before = Bun.hash(readFileSync(file));
    expectPlainRefusal(await serve(gateway.dataDir), /newer/, /9999/);
    expect(Bun.hash(readFileSync(file))).toBe(before);
    expect((await runCommand(['doctor', '--data-dir', gateway.dataDir])).code).toBe(1);
  });

  test('a file that is not a database', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'taskgate.db'), 'x'.repeat(10_000));
    expectPlainRefusal(await serve(folder), /damaged|no database/, /backup/);
  });

  test('secrets that cannot be read', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'secrets.json'), '{"session');
    expectPlainRefusal(await serve(folder), /secrets\.json/);
    expect(readFileSync(join(folder, 'secrets.json'), 'utf8')).toBe('{"session');
  });
});

describe('surroundings that change nothing', () => {
  test('.env and bunfig.toml in the working directory change nothing', async () => {
    const dataDir = temporaryFolder();
    writeFileSync(join(dataDir, '.env'), 'NODE_ROLE=boss\nLOG_LEVEL=loud\nHOST=203.0.113.1\n');
    writeFileSync(join(dataDir, '.env.local'), 'NODE_ROLE=boss\n');
    writeFileSync(join(dataDir, 'bunfig.toml'), 'preload = ["./evil.ts"]\n');
    writeFileSync(join(dataDir, 'evil.ts'), 'require("node:fs").writeFileSync("loaded", "x")\n');
    // The harness starts the gateway in its data directory.
    const gateway = await start({ dataDir });
    await isReady(gateway);
    expect(await Bun.file(join(dataDir, 'loaded')).exists()).toBe(false);
  });

  test('a log that cannot be written delays no request', async () => {
    const gateway = await start({ prefix: ['sh', '-c', 'exec "$@" 2>/dev/full', 'sh'], env: { LOG_LEVEL: 'debug' } });
    const { key } = await prepare(gateway);
    const submitted = await submit(gateway.url, key, {});
    expect((await waitForEnd(gateway.url, key, String(submitted.body.id))).status).toBe('SUCCESS');
    expect(await gateway.stop()).toBe(0);
  });

  test('an output that nobody reads delays no request', async () => {
    const dataDir = temporaryFolder();
    const port = await freePort();
    for (const script of ['exec "$@" >/dev/full 2>&1', '"$@" 2>&1 | true']) {
      const argv = ['sh', '-c', script, 'sh', BINARY, 'serve', '--port', String(port), '--data-dir', dataDir];
      const child = Bun.spawn(argv, { env: { PATH: process.env.PATH ?? '', LOG_LEVEL: 'debug' }, stdin: 'ignore' });
      const url = `http://127.0.0.1:${port}`;
      const isReady = () =>
        fetch(`${url}/readyz`).then(
          ({ status }) => status === 200,
          () => false,
        );
      try {
        await until(`the gateway of ${script} is ready`, isReady);
        for (let i = 0; i < 5; i++) expect((await ask(`${url}/v1/tasks/x`)).status).toBe(401);
      } finally {
        for (const pid of [child.pid, ...listChildren(child.pid)]) terminate(pid);
        await child.exited;
      }
      await until('the port is free again', async () => !(await isReady()));
    }
  });
});

describe('a full disk', () => {
  test('answers 503, loses nothing, and recovers when there is space again', async () => {
    const dataDir = temporaryFolder();
    const mount = `mount -t tmpfs -o size=8m tmpfs ${dataDir} && exec "$0" "$@"`;
    const gateway = await start({ dataDir, prefix: ['unshare', '-Urm', 'sh', '-c', mount] });
    const { admin, key } = await prepare(gateway);
    const before = await admin.quota();
    const earlier = (await vendor.stats()).creates as number;
    const filler = `/proc/${gateway.pid}/root${dataDir}/filler`;

    const running = String((await submit(gateway.url, key, { prompt: 'a cat [duration=2]', seconds: 5 })).body.id);
    const slow = submit(gateway.url, key, { prompt: 'a cat [delay=1.5] [duration=0]', seconds: 5 });
    await until('the slow order is with the vendor', async () => (await vendor.stats()).creates === earlier + 2);
    fill(filler);
    const accepted: string[] = [running];
    const refused = await until('a submission is refused', async () => {
      const answer = await submit(gateway.url, key, { prompt: 'a cat [duration=0]', seconds: 5 });
      if (answer.status === 200) accepted.push(String(answer.body.id));
      return answer.status === 200 ? undefined : answer;
    });
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'unavailable', type: 'server_error' } } });
    expect((refused.body.error as { message: string }).message).toMatch(/disk .* full/);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const login = await ask(`${gateway.url}/api/user/login`, { body: ROOT });
    expect([login.status, login.body.code]).toEqual([503, 'AUTH_UNAVAILABLE']);
    const read = await ask(`${gateway.url}/v1/tasks/${running}`, { token: key });
    expect(read.status).toBe(200);
    await until('the log says so', () => /disk that holds the data directory is full/.test(gateway.log()));
    // Long enough for polls whose results cannot be written.
    await Bun.sleep(2500);
    const orders = (await vendor.stats()).creates;

    rmSync(filler);
    const late = await slow;
    expect([late.status, late.body]).toEqual([200, expect.any(Object)]);
    accepted.push(String(late.body.id));
    const next = await until('a submission is accepted again', async () => {
      const answer = await submit(gateway.url, key, { prompt: 'a cat [duration=0]', seconds: 5 });
      return answer.status === 200 ? answer : undefined;
    });
    accepted.push(String(next.body.id));
    for (const id of accepted) expect([id, (await waitForEnd(gateway.url, key, id)).status]).toEqual([id, 'SUCCESS']);
    expect(await admin.quota()).toBe(before - accepted.length * 50_000);
    const stats = await vendor.stats();
    expect(stats).toMatchObject({ creates: (orders as number) + 1, duplicate_references: {} });
    expect(stats.creates).toBe(earlier + accepted.length);
    expect((await signIn(gateway.url)).token).not.toBe('');
    const examined = await runCommand(['doctor', '--json', '--data-dir', dataDir], { prefix: enter(gateway) });
    expect([examined.code, examined.code === 0 ? '' : examined.out]).toEqual([0, '']);
    expect(await gateway.stop()).toBe(0);
  });

  test('an accepted job that cannot be stored is not billed, must not be repeated, and is named in the log', async () => {
    const dataDir = temporaryFolder();
    const mount = `mount -t tmpfs -o size=8m tmpfs ${dataDir} && exec "$0" "$@"`;
    const gateway = await start({ dataDir, prefix: ['unshare', '-Urm', 'sh', '-c', mount] });
    // The vendor's answer comes once the disk is full.
    const proxy = await startHoldingProxy({ host: '127.0.0.1', port: vendor.port });
    const { admin, key } = await prepare(gateway, proxy.url);
    const before = await admin.quota();
    const filler = `/proc/${gateway.pid}/root${dataDir}/filler`;
    Object.assign(proxy, { mode: 'hold_answers', match: 'POST /v1/jobs' });
    const lost = submit(gateway.url, key, { prompt: 'a cat [duration=0]', seconds: 5 });
    await until('the vendor has taken the order', () => proxy.held() === 1);
    const [{ task_id: id }] = await runInside<[{ task_id: string }]>(gateway, 'SELECT task_id FROM tasks');
    fill(filler);
    // Uses up the space that is left in SQLite's write-ahead log.
    await until('nothing more can be written', async () => {
      const made = await ask(`${gateway.url}/api/token`, { token: admin.token, body: { name: 'x' } });
      return made.status === 503;
    });
    proxy.release();

    const answer = await lost;
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'submission_unrecorded' } } });
    expect(answer.headers.get('x-should-retry')).toBe('false');
    const [job] = (await vendor.stats(id)).jobs as { id: string }[];
    const named = new RegExp(`"upstream_task_id":"${job?.id}".*could not be recorded`);
    await until('the log names the job', () => named.test(gateway.log()));
    const noted = async () =>
      (await admin.call<{ code: string; severity: string; params: object }[]>('GET', '/api/attention')).find(
        ({ code }) => code === 'vendor_job_unrecorded',
      );
    expect(await noted()).toMatchObject({ severity: 'error', params: { job: job?.id, task: id } });
    expect((await ask(`${gateway.url}/api/status`)).body).toMatchObject({ data: { unwritable: true } });
    const browser = await launchBrowser();
    const { page } = await openPage(browser, gateway.url);
    await page.goto(`${gateway.url}/sign-in`);
    await page.getByRole('alert').filter({ hasText: 'Nothing can be saved at the moment' }).waitFor();
    await browser.close();

    rmSync(filler);
    // Its lease lasts up to 30 s more: the test shifts the stored time instead of waiting.
    await runInside(gateway, "UPDATE tasks SET lease_until = 1 WHERE status = 'NOT_START' RETURNING task_id");
    expect((await waitForEnd(gateway.url, key, id)).status).toBe('FAILURE');
    expect(await admin.quota()).toBe(before);
    expect((await vendor.stats(id)).creates).toBe(1);
    await until('the task names the job', async () => {
      const { upstream_task_id: known } = await admin.call('GET', `/api/task/${id}`);
      return known === job?.id;
    });
    expect((await noted())?.severity).toBe('warning');
    expect(await gateway.stop()).toBe(0);
    await proxy.stop();
  });
});

test('a gateway that may open nothing more says so, and not that the vendor refuses', async () => {
  const gateway = await start();
  const admin = await setUp(gateway);
  await letNothingWait(admin);
  await admin.createChannel(vendor.url, { models: ['demo-video'] });
  const key = await admin.createKey();
  // What it opens for its first submission is open then, and so is the connection of this client.
  expect((await submit(gateway.url, key, {})).status).toBe(200);
  const other = await startVendor();
  await admin.createChannel(other.url, { models: ['demo-video-pro'] });
  const limit = (soft: number) => Bun.spawnSync(['prlimit', `--pid=${gateway.pid}`, `--nofile=${soft}:`]);
  // It is the number of a descriptor that is limited: those that are open stay so.
  expect(limit(3).exitCode).toBe(0);
  const refused = await submit(gateway.url, key, { model: 'demo-video-pro' });
  limit(4096);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    502,
    expect.stringContaining('The gateway may open no more files or connections (EMFILE)'),
  ]);
  expect(JSON.stringify(refused.body)).toContain('LimitNOFILE');
  expect((await submit(gateway.url, key, { model: 'demo-video-pro' })).status).toBe(200);
  await other.stop();
});

/** It may have ended by itself. */
function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ESRCH') throw error;
  }
}

/** A prefix that runs a command in the gateway's mount namespace. */
const enter = (gateway: Gateway): string[] => [
  'nsenter',
  '--preserve-credentials',
  '-U',
  '-m',
  '-t',
  String(gateway.pid),
];

/**
 * Runs a statement in the gateway's mount namespace: SQLite resolves links, so a path below
 * /proc/PID/root would not lead to this database.
 */
async function runInside<Rows>(gateway: Gateway, statement: string): Promise<Rows> {
  const script = `
    const database = new (require('bun:sqlite').Database)(process.env.FILE);
    database.run('PRAGMA busy_timeout = 30000');
    console.log(JSON.stringify(database.query(process.env.STATEMENT).all()));`;
  const env = { PATH: process.env.PATH ?? '', FILE: join(gateway.dataDir, 'taskgate.db'), STATEMENT: statement };
  const { code, out, err } = await runCommand(['-e', script], {
    env,
    prefix: enter(gateway),
    program: [process.execPath],
  });
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as Rows;
}

/** Fills the disk to its last byte. */
function fill(path: string): void {
  const descriptor = openSync(path, 'w');
  try {
    for (const size of [65_536, 4096, 1]) {
      const piece = Buffer.alloc(size);
      try {
        while (writeSync(descriptor, piece) > 0);
      } catch (error) {
        if ((error as { code?: string }).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}

describe('SIGTERM', () => {
  test('lets a running submission end, then exits 0; the next start follows the job', async () => {
    const gateway = await start();
    const { key } = await prepare(gateway);
    const { creates } = (await vendor.stats()) as { creates: number };
    const running = submit(gateway.url, key, { prompt: 'a cat [delay=1.5] [duration=0]', seconds: 5 });
    await until('the order is with the vendor', async () => (await vendor.stats()).creates === creates + 1);
    const ended = gateway.stop();
    const answer = await running;
    expect(answer.status).toBe(200);
    expect(await ended).toBe(0);

    const next = await start({ dataDir: gateway.dataDir });
    const id = String(answer.body.id);
    expect((await waitForEnd(next.url, key, id)).status).toBe('SUCCESS');
    expect((await vendor.stats(id)).creates).toBe(1);
    expect((await runBeside(next, ['doctor', '--json'])).code).toBe(0);
  });
});

describe('secrets', () => {
  const VENDOR_KEY = 'vendor-key-nobody-may-see-7319';
  const REFUSED_KEY = 'invalid-vendor-key-4711';
  const DEMO_SOURCE = new URL('../../src/plugins/factory/demo.js', import.meta.url);

  test('never appear in the log, whatever goes wrong', async () => {
    const gateway = await start({
      env: { LOG_LEVEL: 'debug', DEBUG: 'true', METRICS_TOKEN: 'metrics-token-8843-0001' },
    });
    const admin = await setUp(gateway);
    const secrets = new Map<string, string>([
      ['password', ROOT.password],
      ['metrics token', 'metrics-token-8843-0001'],
      ['vendor key', VENDOR_KEY],
      ['refused vendor key', REFUSED_KEY],
      ['access token', admin.token],
      ['set-up token', new URL(gateway.setupUrl ?? '').hash.replace('#token=', '')],
    ]);
    const { url } = gateway;
    await letNothingWait(admin);

    const key = await admin.createKey();
    secrets.set('API key', key);
    await admin.createChannel(vendor.url, { key: VENDOR_KEY });
    await admin.createChannel(vendor.url, {
      name: 'refused',
      key: REFUSED_KEY,
      models: ['refused'],
      model_mapping: { refused: 'demo-video' },
    });
    await admin.createChannel(`http://127.0.0.1:${await freePort()}`, {
      name: 'closed',
      key: VENDOR_KEY,
      models: ['closed'],
      model_mapping: { closed: 'demo-video' },
    });
    // A plugin that puts the key where it does not belong: its console, its URL, its errors.
    const source = (await Bun.file(DEMO_SOURCE).text())
      .replace(/key: 'demo'/, "key: 'chatty'")
      .replaceAll('demo-video', 'chatty-video')
      .replaceAll("'/demo/", "'/chatty/")
      .replace(
        'export function buildQueryRequest(ctx) {',
        'export function buildQueryRequest(ctx) {\n  console.log(ctx.apiKey, ctx);',
      )
      .replace(
        'encodeURIComponent(ctx.taskId)}`, headers',
        'encodeURIComponent(ctx.taskId)}?key=${ctx.apiKey}`, headers',
      )
      .replace(
        'export function buildSubmitRequest(ctx) {',
        "export function buildSubmitRequest(ctx) {\n  console.log('with', ctx.apiKey);\n  if (ctx.requestBody.prompt === 'throw') throw new Error(`no ${ctx.apiKey}`);",
      );
    await admin.call('POST', '/api/plugin/task', { source });
    await admin.createChannel(vendor.url, {
      name: 'chatty',
      key: VENDOR_KEY,
      models: ['chatty-video'],
      task_plugin_key: 'chatty',
    });

    const thrown = await submit(url, key, { plugin: 'chatty', model: 'chatty-video', prompt: 'throw' });
    expect([thrown.status, JSON.stringify(thrown.body)]).toEqual([400, expect.not.stringContaining(VENDOR_KEY)]);
    const ids: string[] = [];
    for (const [plugin, model, prompt] of [
      ['demo', 'demo-video', 'a cat [duration=0]'],
      ['demo', 'demo-video', 'a cat [garbage=1] [duration=0]'],
      ['demo', 'demo-video', 'a cat [500=1] [duration=0]'],
      ['chatty', 'chatty-video', 'a cat [duration=0]'],
    ] as const) {
      ids.push(String((await submit(url, key, { plugin, model, prompt })).body.id));
    }
    for (const model of ['refused', 'closed']) expect((await submit(url, key, { model })).status).toBe(502);
    for (const directive of ['submit=500', 'submit=400', 'submit=garbage'])
      await submit(url, key, { prompt: `x [${directive}]` });
    for (const id of ids) expect((await waitForEnd(url, key, id)).status).toBe('SUCCESS');

    const listed = await ask(`${url}/v1/tasks/${ids[0]}/artifacts`, { token: key });
    const [artifact] = listed.body.artifacts as { content_url: string }[];
    const link = new URL(artifact?.content_url ?? '');
    secrets.set('access of a link', link.searchParams.get('access') ?? '');
    const content = `${url}${link.pathname}`;
    expect((await fetch(`${content}${link.search}`)).status).toBe(200);
    await fetch(`${content}${link.search}&x=1`);
    await fetch(`${content}${link.search}${link.search.replace('?', '&')}`);
    await fetch(`${url}/v1/nothing${link.search}`);
    await fetch(`${url}/v1/videos/${ids[0]}/content`, {
      headers: { authorization: `Bearer ${key}`, range: 'bytes=9-1' },
    });

    const wrongPassword = 'wrong horse battery 9931';
    secrets.set('wrong password', wrongPassword);
    await ask(`${url}/api/user/login`, { body: { username: ROOT.username, password: wrongPassword } });
    await ask(`${url}/api/user/login`, {
      body: { username: ROOT.username, password: [wrongPassword], extra: wrongPassword },
    });
    const signedIn = await fetch(`${url}/api/user/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ROOT),
    });
    const cookie = /svc_refresh_\w{6}=([^;]+)/.exec(signedIn.headers.getSetCookie().join('\n'))?.[1] ?? '';
    secrets.set('refresh cookie', cookie);
    const refresh = () =>
      fetch(`${url}/api/user/token/refresh`, {
        method: 'POST',
        headers: { cookie: `svc_refresh=${cookie}`, origin: url },
      });
    await refresh();
    await ask(`${url}/api/user/auth/refresh`, {
      method: 'POST',
      headers: { cookie: `svc_refresh=${cookie}`, origin: url },
    });
    const foreign = `sk-${'Z'.repeat(48)}`;
    secrets.set('unknown API key', foreign);
    await ask(`${url}/v1/tasks/x`, { token: foreign });
    await ask(`${url}/v1/tasks/${foreign}`, { token: key });
    await ask(`${url}/v1/tasks/x?key=${foreign}&token=${foreign}`, { token: key });
    await ask(`${url}/api/user/self`, { token: `${admin.token.slice(0, -3)}abc` });
    await ask(`${url}/metrics`, { token: 'metrics-token-8843-0001' });
    await ask(`${url}/api/channel`, { token: admin.token, body: { name: 'x', type: 'y', key: VENDOR_KEY, models: 1 } });
    expect(await gateway.stop()).toBe(0);

    // Standard output holds the set-up link and is not a log.
    const log = gateway
      .log()
      .split('\n')
      .filter((line) => !line.includes('"setup_url"'))
      .join('\n');
    expect(log.split('\n').length).toBeGreaterThan(50);
    expect(log).toContain('[plugin:chatty@1.0.0]');
    for (const [name, secret] of secrets) {
      expect([name, secret.length]).toEqual([name, expect.any(Number)]);
      expect(secret.length).toBeGreaterThan(15);
      const at = log.indexOf(secret);
      const line = at < 0 ? '' : log.slice(log.lastIndexOf('\n', at) + 1, log.indexOf('\n', at));
      expect([name, line]).toEqual([name, '']);
    }
    for (const file of ['taskgate.db', 'taskgate.db-wal']) {
      const stored = await Bun.file(join(gateway.dataDir, file))
        .text()
        .catch(() => '');
      for (const name of ['API key', 'password', 'vendor key', 'refresh cookie', 'access token'])
        expect([name, file, stored.includes(secrets.get(name) ?? '\0')]).toEqual([name, file, false]);
    }
  });
});
