/**
 * Publishing and installing on the executable: a folder becomes a marketplace, root adds it, reads,
 * installs and upgrades.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pluginSource } from '../plugins/support.ts';
import { type Administrator, ask, type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';
import { type MarketServer, PNG, sha256, startMarket } from '../support/market-server.ts';
import { runCommand } from '../support/run-command.ts';
import { proofHeader } from '../support/security-proof.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
type Data = any;

const ROOM = '/api/plugin/task/marketplace';
const code = (version: string) => pluginSource({ key: 'paper', name: 'Paper', version, models: ['paper-1'] });
const one = code('1.0.0');
/** The next version reads the channel's key. */
const two = code('1.1.0').replace('body: ctx.requestBody', 'headers: { key: ctx.apiKey }, body: ctx.requestBody');

let folder: string;
let market: MarketServer;
let gateway: Gateway;
let admin: Administrator;

const run = (...argv: string[]) => runCommand(['marketplace', ...argv]);
function put(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}
/** Copies these files of the folder to the server. */
function upload(paths: readonly string[]): void {
  for (const path of paths) market.files.set(`/${path}`, new Uint8Array(readFileSync(join(folder, path))));
}
const list = (refresh = true): Promise<Data> => admin.call('GET', `${ROOM}${refresh ? '?refresh=true' : ''}`);
const offered = async (): Promise<Data> => (await list())[0].plugins[0];
const call = (method: string, path: string, { body, token = admin.token }: { body?: unknown; token?: string } = {}) =>
  ask(`${gateway.url}${path}`, { method, token, ...(body === undefined ? {} : { body }) });
const audit = async (action: string): Promise<Data[]> => {
  const rows = await admin.call<{ items: Data[] }>('GET', '/api/audit?page_size=100');
  return rows.items.filter((row) => row.action === action);
};

beforeAll(async () => {
  folder = temporaryFolder();
  market = startMarket();
  put('paper/1.0.0.js', one);
  put('paper/paper.png', PNG);
  gateway = await startGateway({ env: { DEBUG: 'true', MARKETPLACE_DIR: folder } });
  admin = await setUp(gateway);
});
afterAll(async () => {
  await gateway?.stop();
  await market?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a folder of plugins', () => {
  test('becomes an index that is the same every time and matches its files', async () => {
    const index = join(folder, 'index.json');
    const built = await run('build', folder, '--name', 'Papers', '--json');
    expect([built.code, JSON.parse(built.out)]).toEqual([
      0,
      { ok: true, file: index, name: 'Papers', plugins: 1, versions: 1, changed: true, faults: [] },
    ]);
    const text = readFileSync(index, 'utf8');
    expect(await run('build', folder)).toEqual({ code: 0, out: `${index}: 1 plugin, 1 version, unchanged\n`, err: '' });
    expect(readFileSync(index, 'utf8')).toBe(text);
    expect(await run('check', folder)).toEqual({ code: 0, out: `${index}: 1 plugin, 1 version, no faults\n`, err: '' });
  });

  test('a version that changed is refused, and nothing is written; wrong usage exits 2', async () => {
    const before = readFileSync(join(folder, 'index.json'), 'utf8');
    put('paper/1.0.0.js', `${one}\n// changed`);
    const file = join(folder, 'paper/1.0.0.js');
    const built = await run('build', folder);
    expect([built.code, built.out]).toEqual([
      1,
      expect.stringContaining(`${file}: meta: paper@1.0.0 is published with`),
    ]);
    const checked = await run('check', folder, '--json');
    expect([checked.code, JSON.parse(checked.out)]).toMatchObject([
      1,
      { ok: false, faults: [{ rule: 'market.hash' }] },
    ]);
    expect(readFileSync(join(folder, 'index.json'), 'utf8')).toBe(before);
    put('paper/1.0.0.js', one);
    expect((await run('build', join(folder, 'nothing'))).code).toBe(1);
    for (const argv of [['build'], ['check'], ['build', folder, '--force'], ['sell', folder]]) {
      expect((await run(...argv)).code).toBe(2);
    }
  });
});

describe('the sources', () => {
  test('default to the public ones, and are the list of the option', async () => {
    const shipped = await admin.call<Data[]>('GET', `${ROOM}/sources`);
    expect(shipped.map(({ index_url }) => new URL(index_url).host)).toEqual([
      'www.newapi.ai',
      'raw.githubusercontent.com',
    ]);
    await admin.call('PUT', '/api/option', { key: 'task_plugin.marketplace_sources', value: '[]' });
    expect(await admin.call<Data>('GET', `${ROOM}/sources`)).toEqual([]);
    expect(await list()).toEqual([]);
  });

  test.each<[name: string, body: unknown, field: string, message: string]>([
    ['no list', { sources: [] }, '', 'must be a list'],
    ['an unknown field', [{ name: 'a', index_url: 'https://a.example', token: 'x' }], '0.token', 'Unknown field'],
    ['no address', [{ name: 'a' }], '0.index_url', 'is missing'],
    ['a script', [{ name: 'a', index_url: 'javascript:alert(1)' }], '0.index_url', 'absolute http or https URL'],
    ['credentials', [{ name: 'a', index_url: 'https://u:p@a.example' }], '0.index_url', 'no credentials'],
  ])('%s is refused with the field', async (_name, body, field, message) => {
    const headers = await proofHeader({ url: gateway.url, token: admin.token, password: ROOT.password });
    const refused = await ask(`${gateway.url}${ROOM}/sources`, { method: 'PUT', token: admin.token, headers, body });
    expect([refused.status, refused.body.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(refused.body.details).toMatchObject({ errors: [{ field }] });
    expect(refused.body.message).toContain(message);
  });

  test('are set as a whole, and audited', async () => {
    const sources = [
      { name: 'Papers', index_url: `${market.url}/index.json` },
      { name: 'Gone', index_url: `${market.url}/gone.json` },
      { name: 'Mirror', index_url: pathToFileURL(folder).href },
      { name: 'Outside', index_url: 'file:///etc' },
    ];
    expect(await admin.call<Data>('PUT', `${ROOM}/sources`, sources)).toEqual(sources);
    const [row] = await audit('option.set');
    expect(row).toMatchObject({ target: 'option:task_plugin.marketplace_sources', username: 'root' });
    expect(JSON.parse(row.detail.after)).toEqual(sources);
    upload(['index.json', 'paper/1.0.0.js', 'paper/paper.png']);
    const offers = await list();
    expect(offers.map(({ source, name, error }: Data) => [source.name, name, error])).toEqual([
      ['Papers', 'Papers', undefined],
      ['Gone', '', `Nothing found at ${market.url}/gone.json (HTTP 404). Check the address.`],
      ['Mirror', 'Papers', undefined],
      ['Outside', '', 'The file is outside MARKETPLACE_DIR, the only folder that is read.'],
    ]);
    const logLine = /"task_plugin":"marketplace_fetch",.*"source":"Gone".*"msg":"marketplace fetch"/;
    await until('the log names the failed source', () => logLine.test(gateway.log()));
  });

  test('an API key or no credential reads and installs nothing', async () => {
    for (const path of [ROOM, `${ROOM}/sources`, `${ROOM}/icon?source=Papers&key=paper`]) {
      expect((await ask(`${gateway.url}${path}`)).status).toBe(401);
    }
    const key = await admin.createKey();
    const body = { source: 'Papers', key: 'paper', version: '1.0.0' };
    expect((await call('POST', `${ROOM}/install`, { body, token: key })).status).toBe(401);
  });
});

describe('from the marketplace to a serving plugin', () => {
  test('listed, read, installed, upgraded, activated', async () => {
    const first = await offered();
    expect(first).toMatchObject({
      key: 'paper',
      name: 'Paper',
      description: null,
      icon: null,
      sort_priority: 0,
      website: null,
      models: ['paper-1'],
      latest: '1.0.0',
      versions: [
        { version: '1.0.0', sha256: sha256(one), min_api_version: 1, allowed_hosts: [], base_url: null, stored: 'no' },
      ],
      state: 'not_installed',
    });
    expect(first.installed).toBeUndefined();
    const icon = await fetch(`${gateway.url}${first.icon_url}`, {
      headers: { authorization: `Bearer ${admin.token}` },
    });
    expect(Buffer.from(await icon.arrayBuffer())).toEqual(PNG);
    expect(Object.fromEntries(icon.headers)).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'private, max-age=3600',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
    });
    expect(await admin.call<Data>('GET', `${ROOM}/source?source=Papers&key=paper`)).toMatchObject({
      version: '1.0.0',
      source: one,
      source_hash: sha256(one),
      meta: { key: 'paper' },
      errors: [],
      needs: [],
      permissions: {
        gained: [
          { code: 'channel_host', values: [] },
          { code: 'models', values: ['paper-1'] },
        ],
        lost: [],
        kept: [],
      },
      differences: [],
      current: null,
    });

    const install = (version: string, more: object = {}) =>
      call('POST', `${ROOM}/install`, { body: { source: 'Papers', key: 'paper', version, ...more } });
    const seen = await install('1.0.0', { sha256: sha256(two) });
    expect([seen.status, seen.body.code]).toEqual([409, 'PLUGIN_MARKET_CHANGED']);
    const done = await Promise.all([install('1.0.0', { sha256: sha256(one) }), install('1.0.0')]);
    for (const { status, body } of done) {
      expect([status, body.data]).toMatchObject([
        200,
        {
          ...{ key: 'paper', version: '1.0.0', source_hash: sha256(one), active: true, has_icon: true },
          ...{ outcome: 'serving', permissions: [{ code: 'channel_host' }, { code: 'models', values: ['paper-1'] }] },
        },
      ]);
    }
    expect(await admin.call<Data[]>('GET', '/api/plugin/task/paper/versions')).toHaveLength(1);
    expect((await offered()).state).toBe('up_to_date');

    put('paper/1.1.0.js', two);
    expect((await run('build', folder)).code).toBe(0);
    upload(['index.json', 'paper/1.1.0.js']);
    expect(await offered()).toMatchObject({ state: 'upgradable', latest: '1.1.0', installed: { version: '1.0.0' } });
    expect(await admin.call<Data>('GET', `${ROOM}/source?source=Papers&key=paper`)).toMatchObject({
      version: '1.1.0',
      source: two,
      current: { version: '1.0.0', source: one, source_hash: sha256(one) },
    });
    const offer = { source: 'Papers', key: 'paper', version: '1.1.0' };
    const shown = await admin.call<Data>('POST', `${ROOM}/preview`, offer);
    expect(shown).toMatchObject({ from: { version: '1.0.0' }, to: { version: '1.1.0' }, conflict: null });
    expect(shown.permissions).toMatchObject({ gained: [{ code: 'channel_key' }], lost: [], kept: [{}, {}] });
    expect(await admin.call<Data[]>('GET', '/api/plugin/task/paper/versions')).toHaveLength(1);
    expect((await install('1.1.0')).body.data).toMatchObject({
      ...{ active: false, outcome: 'waits_for_activation' },
      preview: shown,
    });
    expect(await offered()).toMatchObject({ state: 'upgradable', versions: [{ stored: 'same', active: false }, {}] });
    await admin.call('POST', '/api/plugin/task/paper/activate', { version: '1.1.0' });
    expect((await offered()).state).toBe('up_to_date');
    // The folder gives the same as the server that it was copied to.
    expect((await list())[2].plugins[0].state).toBe('up_to_date');

    const rows = await audit('plugin.install');
    expect(rows.map(({ target }) => target)).toEqual([
      'plugin:paper@1.1.0',
      'plugin:paper@1.0.0',
      'plugin:paper@1.0.0',
    ]);
    expect(rows[0]).toMatchObject({
      username: 'root',
      detail: { source: 'Papers', before: null, after: { version: '1.1.0', source_hash: sha256(two), active: false } },
    });
    // The second source offered the same version: only logo or remark could have changed.
    const stored = { version: '1.0.0', source_hash: sha256(one), active: true, has_icon: true };
    expect(rows[1]).toMatchObject({ detail: { before: stored, after: stored } });
  });

  test('a file with another hash is not installed, and a version whose announced hash changed is diverged', async () => {
    market.files.set('/paper/1.1.0.js', `${two}\n// changed`);
    const body = { source: 'Papers', key: 'paper', version: '1.1.0' };
    const refused = await call('POST', `${ROOM}/install`, { body });
    expect([refused.status, refused.body.code]).toEqual([422, 'PLUGIN_MARKET_MISMATCH']);
    const read = await call('GET', `${ROOM}/source?source=Papers&key=paper&version=1.1.0`);
    expect(read.status).toBe(422);
    market.files.set(
      '/index.json',
      readFileSync(join(folder, 'index.json'), 'utf8').replace(sha256(two), sha256('other')),
    );
    expect((await offered()).state).toBe('diverged');
    market.files.clear();
    const gone = await call('POST', `${ROOM}/install`, { body: { ...body, version: '1.0.0' } });
    expect([gone.status, gone.body.code]).toEqual([502, 'PLUGIN_MARKET_FAILED']);
    expect((await call('GET', `${ROOM}/icon?source=Nobody&key=paper`)).status).toBe(404);
  });
});
