/**
 * A signed marketplace on the executable: its publisher makes keys, signs, rotates and revokes; a
 * gateway pins, follows, refuses and tells.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pluginSource } from '../plugins/support.ts';
import { testInFullRun } from '../support/full-run.ts';
import { type Administrator, ask, type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';
import { type MarketServer, startMarket } from '../support/market-server.ts';
import { runCommand } from '../support/run-command.ts';
import { proofHeader } from '../support/security-proof.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
type Data = any;

const ROOM = '/api/plugin/task/marketplace';
const PASSWORD = 'a password of the publisher';
const code = (version: string) => pluginSource({ key: 'paper', name: 'Paper', version, models: ['paper-1'] });

let work: string;
let folder: string;
let market: MarketServer;
let gateway: Gateway;
let admin: Administrator;

const run = (argv: readonly string[], stdin = '') => runCommand(['marketplace', ...argv], { stdin });
const inWork = (name: string) => join(work, name);
const publicKey = (name: string): string =>
  readFileSync(inWork(`${name}.pub`), 'utf8')
    .trim()
    .split('\n')[1] ?? '';
function put(path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}
async function build(argv: readonly string[] = [], stdin = `${PASSWORD}\n`): Promise<Data> {
  const built = await run(['build', folder, '--sign', inWork('first.key'), '--json', ...argv], stdin);
  if (built.code !== 0) throw new Error(`${built.out}${built.err}`);
  return JSON.parse(built.out);
}
/** Puts the folder's index, signature, hand-over and sources on the server. */
function upload(): void {
  for (const path of ['index.json', 'index.json.minisig', 'index.json.handover', 'paper/1.0.0.js', 'paper/1.1.0.js'])
    if (existsSync(join(folder, path))) market.files.set(`/${path}`, new Uint8Array(readFileSync(join(folder, path))));
}
const source = async (): Promise<Data> => (await admin.call<Data[]>('GET', `${ROOM}?refresh=true`))[0];
const sources = () => admin.call<Data>('GET', `${ROOM}/sources`);
const audit = async (action: string): Promise<Data[]> => {
  const rows = await admin.call<{ items: Data[] }>('GET', '/api/audit?page_size=100');
  return rows.items.filter((row) => row.action === action);
};

beforeAll(async () => {
  work = temporaryFolder();
  folder = join(work, 'market');
  market = startMarket();
  put('paper/1.0.0.js', code('1.0.0'));
  gateway = await startGateway();
  admin = await setUp(gateway);
});
afterAll(async () => {
  await gateway?.stop();
  await market?.stop();
  rmSync(work, { recursive: true, force: true });
});

describe('the publisher', () => {
  test('makes a key pair: only the owner reads the secret key, and nothing is overwritten', async () => {
    expect((await run(['keygen', inWork('first')])).code).toBe(1);
    const made = await run(['keygen', inWork('first'), '--json'], `${PASSWORD}\n`);
    expect([made.code, JSON.parse(made.out)]).toMatchObject([0, { ok: true, public_key: publicKey('first') }]);
    expect(statSync(inWork('first.key')).mode & 0o777).toBe(0o600);
    const before = readFileSync(inWork('first.key'), 'utf8');
    const again = await run(['keygen', inWork('first'), '--no-password']);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('first.key is there already')]);
    expect(readFileSync(inWork('first.key'), 'utf8')).toBe(before);
    expect((await run(['keygen', inWork('second'), '--no-password'])).code).toBe(0);
  });

  test('signs an index that stays as it is until something changes, and that passes the check', async () => {
    const refused = await run(['build', folder, '--sign', inWork('first.key')], 'wrong\n');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('has another password')]);
    const built = await build();
    expect(built).toMatchObject({ ok: true, changed: true });
    expect(await build()).toMatchObject({ changed: false, serial: built.serial });
    for (const key of [publicKey('first'), inWork('first.pub')])
      expect(await run(['check', folder, '--public-key', key])).toMatchObject({ code: 0 });
    const other = await run(['check', folder, '--public-key', inWork('second.pub')]);
    expect([other.code, other.out]).toEqual([1, expect.stringContaining('index.json.minisig: source: is by the key')]);
    const unsigned = await run(['build', folder]);
    expect([unsigned.code, unsigned.out]).toEqual([1, expect.stringContaining('Name the key with --sign')]);
    const swapped = await run(['build', folder, '--sign', inWork('second.key')]);
    expect([swapped.code, swapped.err]).toEqual([1, expect.stringContaining('with --hand-over')]);
    put('paper/1.1.0.js', code('1.1.0'));
    expect((await build()).serial).toBeGreaterThan(built.serial);
  });
});

describe('a gateway', () => {
  test('pins a signed source at its first use, and keeps the key where a client sends none', async () => {
    const entry = { name: 'Papers', index_url: `${market.url}/index.json` };
    await admin.call('PUT', `${ROOM}/sources`, [entry]);
    upload();
    expect(await source()).toMatchObject({
      trust: { state: 'signed', reason: null, key: { public_key: publicKey('first') }, expired: false },
      plugins: [{ key: 'paper', latest: '1.1.0' }],
    });
    const pinned = [{ ...entry, public_key: publicKey('first') }];
    expect(await sources()).toEqual(pinned);
    expect(await admin.call<Data>('PUT', `${ROOM}/sources`, [entry])).toEqual(pinned);
    expect(await audit('plugin.market_key_pin')).toMatchObject([
      { target: 'marketplace:Papers', auth_method: 'gateway', detail: { before: null, after: publicKey('first') } },
    ]);
    await admin.call('POST', `${ROOM}/install`, { source: 'Papers', key: 'paper', version: '1.0.0' });
  });

  test('tampered and older indexes and a tampered file are refused, and the key stays', async () => {
    const path = (name: string) => join(folder, name);
    const old = ['index.json', 'index.json.minisig'].map((name) => [name, readFileSync(path(name))] as const);
    const offered = async () => {
      const { trust, plugins } = await source();
      return [trust.state, trust.reason, plugins.length];
    };
    market.files.set('/index.json', new Uint8Array(Buffer.from(`${old[0]?.[1]} `)));
    expect(await offered()).toEqual(['refused', 'tampered', 0]);
    const body = { source: 'Papers', key: 'paper', version: '1.1.0' };
    const install = () => ask(`${gateway.url}${ROOM}/install`, { method: 'POST', token: admin.token, body });
    expect((await install()).body.code).toBe('PLUGIN_MARKET_UNTRUSTED');

    upload();
    market.files.set('/paper/1.1.0.js', new Uint8Array(Buffer.from(`${code('1.1.0')}\n`)));
    expect(await offered()).toEqual(['signed', null, 1]);
    expect((await install()).body.code).toBe('PLUGIN_MARKET_MISMATCH');

    put('more.js', pluginSource({ key: 'more', models: ['more-1'] }));
    await build();
    upload();
    expect(await offered()).toEqual(['signed', null, 2]);
    for (const [name, bytes] of old) market.files.set(`/${name}`, new Uint8Array(bytes));
    expect(await offered()).toEqual(['refused', 'rolled_back', 0]);
    upload();
    expect(await sources()).toMatchObject([{ public_key: publicKey('first') }]);
  });

  test('follows a hand-over by itself', async () => {
    const handOver = ['build', folder, '--sign', inWork('second.key'), '--hand-over', inWork('first.key')];
    expect((await run(handOver, `${PASSWORD}\n`)).code).toBe(0);
    const again = await run(['build', folder, '--sign', inWork('second.key')]);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('unchanged')]);
    upload();
    expect((await source()).trust).toMatchObject({ state: 'signed', key: { public_key: publicKey('second') } });
    expect(await audit('plugin.market_key_hand_over')).toMatchObject([
      { detail: { before: publicKey('first'), after: publicKey('second') } },
    ]);
  });

  test('a revoked version is refused with its reason, and raises attention where it serves', async () => {
    writeFileSync(inWork('revoked.json'), JSON.stringify({ 'paper@1.0.0': 'It sends keys away.' }));
    const sign = ['build', folder, '--sign', inWork('second.key')];
    expect((await run([...sign, '--revoked', inWork('revoked.json')])).code).toBe(0);
    // Its file may go; the revocation stays in later indexes.
    rmSync(join(folder, 'paper/1.0.0.js'));
    put('other.js', pluginSource({ key: 'other', models: ['other-1'] }));
    expect((await run(sign)).code).toBe(0);
    expect((await run(['check', folder])).code).toBe(0);
    upload();
    expect(await source()).toMatchObject({
      revoked: [{ key: 'paper', version: '1.0.0', reason: 'It sends keys away.' }],
    });
    const body = { source: 'Papers', key: 'paper', version: '1.0.0' };
    const refused = await ask(`${gateway.url}${ROOM}/install`, { method: 'POST', token: admin.token, body });
    expect([refused.status, refused.body.code, refused.body.message]).toEqual([
      422,
      'PLUGIN_MARKET_REVOKED',
      'The publisher has revoked paper@1.0.0: "It sends keys away."',
    ]);
    const items = await admin.call<Data[]>('GET', '/api/attention');
    expect(items.filter(({ code: each }) => each === 'plugin_revoked')).toMatchObject([
      { severity: 'error', target: { kind: 'plugin', id: 'paper' } },
    ]);
  });

  test('refuses another key until root accepts it with a proof, and both are recorded', async () => {
    expect((await run(['keygen', inWork('stranger'), '--no-password'])).code).toBe(0);
    for (const file of ['index.json', 'index.json.minisig', 'index.json.handover']) rmSync(join(folder, file));
    market.files.delete('/index.json.handover');
    expect((await run(['build', folder, '--sign', inWork('stranger.key')])).code).toBe(0);
    upload();
    const [known, seen] = [publicKey('second'), publicKey('stranger')];
    const { trust, error, plugins } = await source();
    expect([trust, plugins]).toMatchObject([
      { state: 'refused', reason: 'key_changed', key: { public_key: known }, seen_key: { public_key: seen } },
      [],
    ]);
    expect(error).toContain(known);
    expect(error).toContain(seen);
    const accept = (headers: Record<string, string>, known_key: string) =>
      ask(`${gateway.url}${ROOM}/key`, {
        method: 'POST',
        token: admin.token,
        headers,
        body: { source: 'Papers', known_key, public_key: seen },
      });
    expect((await accept({}, known)).status).toBe(403);
    const proof = () => proofHeader({ url: gateway.url, token: admin.token, password: ROOT.password });
    expect((await accept(await proof(), publicKey('first'))).status).toBe(400);
    expect((await accept(await proof(), known)).status).toBe(200);
    expect((await source()).trust).toMatchObject({ state: 'signed', key: { public_key: seen } });
    expect(await audit('plugin.market_key_accept')).toMatchObject([
      { username: 'root', detail: { before: known, after: seen } },
    ]);
  });
});

testInFullRun('minisign itself verifies what is signed here, and its keys sign here', async () => {
  const minisign = Bun.which('minisign');
  if (minisign === null) return;
  const tool = (...argv: string[]) =>
    Bun.spawnSync([minisign, ...argv], { stdin: new TextEncoder().encode(`${PASSWORD}\n`) });
  const index = join(folder, 'index.json');
  expect(tool('-V', '-p', inWork('stranger.pub'), '-m', index).exitCode).toBe(0);
  const signature = inWork('by-minisign.minisig');
  expect(tool('-S', '-s', inWork('first.key'), '-m', index, '-x', signature).exitCode).toBe(0);
  expect(tool('-V', '-p', inWork('first.pub'), '-m', index, '-x', signature).exitCode).toBe(0);
  expect(tool('-G', '-W', '-p', inWork('theirs.pub'), '-s', inWork('theirs.key')).exitCode).toBe(0);
  const out = inWork('theirs.json');
  expect((await run(['build', folder, '--out', out, '--sign', inWork('theirs.key')])).code).toBe(0);
  expect(tool('-V', '-p', inWork('theirs.pub'), '-m', out).exitCode).toBe(0);
});
