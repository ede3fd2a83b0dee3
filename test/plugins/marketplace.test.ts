/**
 * Marketplaces over real HTTP and from a folder: broken and hostile ones, the cache, installation,
 * states.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { sentence, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createMarketplace, type Marketplace, type MarketSource, type PluginService } from '../../src/plugins/index.ts';
import { createMarketReader } from '../../src/plugins/marketplace/fetch-file.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { DEFAULT_MARKET_SOURCES } from '../../src/settings/catalogue/market-sources.ts';
import { createUpstream } from '../../src/upstream/index.ts';
import { FAR_MS } from '../support/far-limits.ts';
import { type MarketServer, PNG, publish, sha256, startMarket } from '../support/market-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import {
  makeService,
  type OpenedStore,
  openTestStore,
  pluginSource,
  pluginWorker,
  refusal,
  startSandbox,
} from './support.ts';

const upstream = createUpstream({ allowPrivate: false, clock: systemClock, logger: silentLogger });
const scratch = temporaryFolder();
let market: MarketServer;
let elsewhere: MarketServer;
let sandbox: Sandbox;
let opened: OpenedStore;
let plugins: PluginService;

beforeAll(async () => {
  market = startMarket();
  elsewhere = startMarket();
  sandbox = startSandbox();
  opened = await openTestStore('sqlite');
  plugins = makeService(opened.store, sandbox);
  await plugins.start();
});
afterAll(async () => {
  await plugins?.stop();
  await opened?.close();
  await sandbox?.close();
  await upstream.close();
  await market?.stop();
  await elsewhere?.stop();
  rmSync(scratch, { recursive: true, force: true });
});
beforeEach(() => {
  market.files.clear();
  market.asked.length = 0;
});

const source = (indexUrl: string, name = 'Ours'): MarketSource => ({ name, indexUrl });
const open = (
  sources: readonly MarketSource[],
  {
    mirrorDir = '',
    service = plugins,
    timeoutMs = FAR_MS,
  }: { mirrorDir?: string; service?: PluginService; timeoutMs?: number } = {},
): Marketplace =>
  createMarketplace({
    plugins: service,
    store: opened.store,
    upstream,
    sources: () => sources,
    pin: async () => true,
    shippedSources: DEFAULT_MARKET_SOURCES,
    mirrorDir,
    clock: systemClock,
    logger: silentLogger,
    timeoutMs,
    worker: pluginWorker,
  });
const code = (key: string, version: string, more = '') => pluginSource({ key, version, models: [`${key}-1`] }, more);
const offer = async (marketplace: Marketplace, refresh = false) => {
  const [first] = await marketplace.list({ refresh });
  if (!first) throw new Error('there is no source');
  return first;
};

describe('a source that cannot be read shows its error beside the others', () => {
  test('each for itself', async () => {
    const file = (path: string, body: Parameters<MarketServer['files']['set']>[1]) => {
      market.files.set(path, body);
      return `${market.url}${path}`;
    };
    const broken: [name: string, url: string, error: string][] = [
      [
        'away',
        `${market.url}/nothing.json`,
        `Nothing found at ${market.url}/nothing.json (HTTP 404). Check the address.`,
      ],
      ['500', file('/500', () => new Response('x', { status: 500 })), 'The marketplace responded with HTTP 500.'],
      [
        'redirect',
        file('/redirect', () => new Response(null, { status: 302, headers: { location: '/good/index.json' } })),
        'The marketplace redirects (HTTP 302). Enter the final address.',
      ],
      ['garbage', file('/garbage', new Uint8Array([0xff, 0xfe, 0x00])), 'The file is not in UTF-8.'],
      ['page', file('/page', '<!doctype html>'), 'The index is not JSON.'],
      ['later', file('/later', '{"indexVersion":2}'), 'This gateway supports only indexes with indexVersion 1.'],
      ['huge', file('/huge', new Uint8Array(8 * 1024 * 1024 + 1)), 'The marketplace sends more than 8 MB.'],
      [
        'bomb',
        file('/bomb', () => {
          const body = new Blob([gzipSync(new Uint8Array(9 * 1024 * 1024))]);
          return new Response(body, { headers: { 'content-encoding': 'gzip' } });
        }),
        'The marketplace sends more than 8 MB.',
      ],
      ['closed', 'http://127.0.0.1:1/index.json', 'Could not connect to the marketplace.'],
      [
        'metadata',
        'http://169.254.169.254/index.json',
        'The address is not allowed: it is in a private or reserved network.',
      ],
    ];
    const good = publish(market, '/good', {
      plugins: [{ key: 'good', version: '1.0.0', source: code('good', '1.0.0') }],
    });
    const marketplace = open([...broken.map(([name, url]) => source(url, name)), source(good, 'good')]);
    const offers = await marketplace.list({ refresh: false });
    expect(offers.map(({ source, error }) => [source.name, error?.message])).toEqual([
      ...broken.map(([name, , error]) => [name, error]),
      ['good', undefined],
    ]);
    expect(offers.at(-1)).toMatchObject({ name: 'Market /good', plugins: [{ key: 'good', state: 'not_installed' }] });
    expect(market.asked.filter((path) => path === '/good/index.json')).toHaveLength(1);
    expect(await refusal(marketplace.install({ source: '500', key: 'good', version: '1.0.0' }))).toMatchObject({
      code: 'plugins.market_failed',
      message: 'The source "500" cannot be read. The marketplace responded with HTTP 500.',
    });
  });

  test('slow loris: a source that never answers or never ends times out', async () => {
    const drip = () => {
      let timer: ReturnType<typeof setInterval>;
      return new ReadableStream({
        start: (controller) => {
          timer = setInterval(() => controller.enqueue(new Uint8Array([0x20])), 20);
        },
        cancel: () => clearInterval(timer),
      });
    };
    market.files.set('/slow', () => new Promise<Response>(() => {}));
    market.files.set('/dripping', () => new Response(drip()));
    const urls = ['/slow', '/dripping'].map((path) => source(`${market.url}${path}`, path));
    const offers = await open(urls, { timeoutMs: 400 }).list({ refresh: false });
    const error = 'The marketplace did not respond completely within 0.4 seconds.';
    expect(offers.map((each) => each.error?.message)).toEqual([error, error]);
  });

  test('SSRF: a shipped source whose name leads into the private network is refused', async () => {
    const resolving = createUpstream({
      allowPrivate: false,
      clock: systemClock,
      logger: silentLogger,
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    const read = createMarketReader({
      upstream: resolving,
      shippedSources: DEFAULT_MARKET_SOURCES,
      mirrorDir: '',
      clock: systemClock,
      logger: silentLogger,
    });
    for (const shipped of DEFAULT_MARKET_SOURCES) {
      expect(await read(shipped, shipped.indexUrl, 'index')).toEqual({
        ok: false,
        error: { ...sentence('market.address'), isAbsent: false },
      });
    }
    await resolving.close();
  });
});

describe('the cache', () => {
  test('concurrent calls share a fetch, refresh fetches again, removed sources are not fetched', async () => {
    const url = publish(market, '/cached', {
      plugins: [{ key: 'good', version: '1.0.0', source: code('good', '1.0.0') }],
    });
    const sources = [source(url)];
    const marketplace = open(sources);
    await Promise.all(Array.from({ length: 10 }, () => marketplace.list({ refresh: true })));
    const asked = () => market.asked.filter((path) => path === '/cached/index.json').length;
    expect(asked()).toBe(1);
    await marketplace.list({ refresh: false });
    expect(asked()).toBe(1);
    await marketplace.list({ refresh: true });
    expect(asked()).toBe(2);
    // What the gateway said to a source stays true.
    expect(market.asked.filter((path) => path.endsWith('.js'))).toEqual(['/cached/good/1.0.0.js']);

    sources.length = 0;
    expect(await marketplace.list({ refresh: false })).toEqual([]);
    sources.push(source(url));
    await marketplace.list({ refresh: false });
    expect(asked()).toBe(3);
  });
});

describe('versions that this gateway does not take', () => {
  test('are marked in the list, and the newest that it takes is offered', async () => {
    const later = (version: string, meta: object) => ({
      ...{ key: 'modern', version },
      source: pluginSource({ key: 'modern', version, models: ['modern-1'], ...meta }),
    });
    const url = publish(market, '/modern', {
      plugins: [
        later('1.0.0', {}),
        later('1.1.0', {}),
        later('1.2.0', { key: 'É' }),
        later('1.3.0', { requiredCapabilities: ['telepathy@1'] }),
        { key: 'future', version: '1.0.0', source: code('future', '1.0.0').replace('apiVersion":1', 'apiVersion":2') },
        { key: 'gone', version: '1.0.0', source: code('gone', '1.0.0') },
      ],
    });
    market.files.delete('/modern/gone/1.0.0.js');
    const { plugins: offered } = await offer(open([source(url)]));
    const seen = offered.map(({ key, offered: best, state, versions }) => [
      ...[key, best, state],
      versions.map(({ version, verdict }) => [version, verdict?.taken, verdict?.taken === false ? verdict.needs : []]),
    ]);
    expect(seen).toEqual([
      ['future', null, 'not_installed', [['1.0.0', false, [{ code: 'api', version: 2 }]]]],
      ['gone', '1.0.0', 'not_installed', [['1.0.0', undefined, []]]],
      [
        ...['modern', '1.1.0', 'not_installed'],
        [
          ['1.3.0', false, [{ code: 'capability', name: 'telepathy@1' }]],
          ['1.2.0', false, []],
          ['1.1.0', true, []],
          ['1.0.0', undefined, []],
        ],
      ],
    ]);
  });
});

describe('what changed in a version', () => {
  const head = (version: string, locale: string) =>
    `---\nchangelogVersion: 1\nplugin: told\nversion: ${version}\nlocale: ${locale}\ntranslations:\n  de: CHANGELOG.de.md\n---\n`;
  test('is shown in the offer and the preview, and stays with the version', async () => {
    const plugins2 = ['1.0.0', '1.1.0'].map((version) => ({
      ...{ key: 'told', version, source: code('told', version), path: `told/${version}/plugin.js` },
    }));
    const url = publish(market, '/told', { plugins: plugins2 });
    for (const { version, source: text, path } of plugins2) {
      market.files.set(`/told/${path}`, text);
      const body = `## [${version}]\n\n### Added\n\n- More.\n\n### Migration\n\n- Price ${version}.\n`;
      market.files.set(`/told/told/${version}/CHANGELOG.md`, head(version, 'en') + body);
    }
    market.files.set('/told/told/1.1.0/CHANGELOG.de.md', `${head('1.1.0', 'de')}## [1.1.0]\n\n### Added\n\n- Mehr.\n`);
    const marketplace = open([source(url)]);
    const en = (version: string) => [
      { name: 'Migration', items: [`Price ${version}.`] },
      { name: 'Added', items: ['More.'] },
    ];
    const whole = { en: en('1.1.0'), de: [{ name: 'Added', items: ['Mehr.'] }] };
    expect((await marketplace.read({ source: 'Ours', key: 'told' })).changelog as object).toEqual(whole);
    await marketplace.install({ source: 'Ours', key: 'told', version: '1.0.0' });
    const { plugin, preview } = await marketplace.install({ source: 'Ours', key: 'told', version: '1.1.0' });
    expect([plugin?.changelog, preview?.changelog] as object[]).toEqual([whole, whole]);
    expect((await plugins.versions('told')).map(({ changelog }) => Object.keys(changelog ?? {}))).toEqual([
      ['en', 'de'],
      ['en'],
    ]);
  });
});

describe('installing', () => {
  test('a logo that cannot be fetched stops nothing', async () => {
    const plain = { key: 'plain', version: '1.0.0', source: code('plain', '1.0.0') };
    const url = publish(market, '/plain', { plugins: [plain], shown: { iconFile: { path: 'a.png' } } });
    const installed = await open([source(url)]).install({ source: 'Ours', key: 'plain', version: '1.0.0' });
    expect([installed.isServing, installed.hasIcon]).toEqual([true, false]);
  });

  test('the first version serves, the second has to be activated; the install states follow', async () => {
    const [one, two] = [code('steps', '1.0.0'), code('steps', '1.1.0')];
    const first = { key: 'steps', version: '1.0.0', source: one };
    const url = publish(market, '/steps', {
      plugins: [first],
      shown: {
        iconFile: { path: 'steps/steps.png', sha256: sha256(PNG).toUpperCase() },
      },
    });
    market.files.set('/steps/steps/steps.png', PNG);
    const marketplace = open([source(url)]);
    const state = async () => (await offer(marketplace, true)).plugins[0]?.state;

    expect(await marketplace.read({ source: 'Ours', key: 'steps' })).toMatchObject({
      version: '1.0.0',
      source: one,
      sourceHash: sha256(one),
      meta: { key: 'steps', version: '1.0.0' },
      errors: [],
      current: null,
    });
    expect(await state()).toBe('not_installed');
    const name = { source: 'Ours', key: 'steps' };
    const installed = await marketplace.install({ ...name, version: '1.0.0', sha256: sha256(one).toUpperCase() });
    expect(installed).toMatchObject({
      sourceHash: sha256(one),
      hasIcon: true,
      plugin: { active: true, enabled: true },
    });
    expect(plugins.current().plugins.get('steps')?.version).toBe('1.0.0');
    expect((await plugins.icon('steps'))?.bytes).toEqual(PNG);
    expect(Buffer.from((await marketplace.icon(name))?.bytes ?? [])).toEqual(PNG);
    expect(await state()).toBe('up_to_date');

    publish(market, '/steps', { plugins: [first, { key: 'steps', version: '1.1.0', source: two }] });
    expect(await state()).toBe('upgradable');
    expect(await marketplace.read(name)).toMatchObject({
      version: '1.1.0',
      current: { version: '1.0.0', source: one },
    });
    const upgrade = await marketplace.install({ ...name, version: '1.1.0' });
    expect(upgrade.plugin).toMatchObject({ active: false, enabled: true });
    expect((await offer(marketplace)).plugins[0]).toMatchObject({
      state: 'upgradable',
      installed: { version: '1.0.0' },
      versions: [
        { version: '1.1.0', stored: 'same', active: false },
        { version: '1.0.0', stored: 'same', active: true },
      ],
    });
    await plugins.activate('steps', '1.1.0');
    expect(await state()).toBe('up_to_date');

    // The market now announces another source for the installed version.
    publish(market, '/steps', { plugins: [{ key: 'steps', version: '1.1.0', source: `${two}\n// changed` }] });
    expect(await state()).toBe('diverged');
    expect(await refusal(marketplace.install({ ...name, version: '1.1.0' }))).toMatchObject({
      code: 'plugins.version_exists',
    });
    expect(plugins.current().plugins.get('steps')?.sourceHash).toBe(sha256(two));
  });

  test('two concurrent installations store one row', async () => {
    const text = code('twice', '1.0.0');
    const marketplace = open([
      source(publish(market, '/twice', { plugins: [{ key: 'twice', version: '1.0.0', source: text }] })),
    ]);
    const install = () => marketplace.install({ source: 'Ours', key: 'twice', version: '1.0.0' });
    await Promise.all([install(), install(), marketplace.list({ refresh: true }), install()]);
    expect((await plugins.versions('twice')).map(({ version }) => version)).toEqual(['1.0.0']);
  });

  test('two nodes install concurrently: one row is stored, and both succeed', async () => {
    const text = code('shared', '1.0.0');
    const indexUrl = publish(market, '/shared', { plugins: [{ key: 'shared', version: '1.0.0', source: text }] });
    const other = makeService(opened.store, sandbox);
    await other.start();
    const nodes = [plugins, other].map((service) => open([source(indexUrl)], { service }));
    const name = { source: 'Ours', key: 'shared', version: '1.0.0' };
    const done = await Promise.all([...nodes, ...nodes].map((node) => node.install(name)));
    expect(done.map(({ plugin }) => [plugin?.active, plugin?.sourceHash])).toEqual(Array(4).fill([true, sha256(text)]));
    expect(await plugins.versions('shared')).toHaveLength(1);
    await other.stop();
  });

  const text = code('held', '1.0.0');
  const entry = { key: 'held', version: '1.0.0', source: text };
  const REFUSED: [name: string, prepare: () => string, request: object, code: string, message: string][] = [
    [
      'a file that is not the announced one',
      () => publish(market, '/m', { plugins: [{ ...entry, sha256: sha256('other') }] }),
      {},
      'market_mismatch',
      "doesn't match the SHA-256 in the index",
    ],
    [
      'an index that changed since it was seen',
      () => publish(market, '/m', { plugins: [entry] }),
      { sha256: sha256('what was seen') },
      'market_changed',
      'a different SHA-256 than the one you have seen',
    ],
    [
      'another plugin under this name',
      () => publish(market, '/m', { plugins: [{ ...entry, source: code('other', '1.0.0') }] }),
      {},
      'market_mismatch',
      'announces as held@1.0.0 is other@1.0.0',
    ],
    [
      'another version under this name',
      () => publish(market, '/m', { plugins: [{ ...entry, source: code('held', '2.0.0') }] }),
      {},
      'market_mismatch',
      'announces as held@1.0.0 is held@2.0.0',
    ],
    [
      'a plugin that is none',
      () => publish(market, '/m', { plugins: [{ ...entry, source: 'export const meta = 1;' }] }),
      {},
      'invalid',
      'not valid',
    ],
    [
      'a source that is gone',
      () => publish(market, '/m', { plugins: [{ ...entry, path: 'gone.js' }] }),
      {},
      'market_failed',
      'HTTP 404',
    ],
    [
      'a source that is not text',
      () => {
        const bytes = new Uint8Array([0xc3, 0x28]);
        const url = publish(market, '/m', { plugins: [{ ...entry, sha256: sha256(bytes) }] });
        market.files.set('/m/held/1.0.0.js', bytes);
        return url;
      },
      {},
      'market_mismatch',
      'is not in UTF-8',
    ],
    [
      'a source that is too large',
      () => publish(market, '/m', { plugins: [{ ...entry, source: `${text}//${'x'.repeat(1024 * 1024)}` }] }),
      {},
      'market_failed',
      'sends more than 1 MB',
    ],
    [
      'a source that redirects elsewhere',
      () => {
        const url = publish(market, '/m', { plugins: [entry] });
        elsewhere.files.set('/held.js', text);
        market.files.set('/m/held/1.0.0.js', () => Response.redirect(`${elsewhere.url}/held.js`));
        return url;
      },
      {},
      'market_failed',
      'redirects (HTTP 302)',
    ],
    [
      'a source on another origin',
      () => {
        elsewhere.files.set('/held.js', text);
        return publish(market, '/m', { plugins: [{ ...entry, path: `${elsewhere.url}/held.js` }] });
      },
      {},
      'not_found',
      'offers no plugin "held"',
    ],
    [
      'an icon that is not the announced one',
      () => {
        market.files.set('/m/a.png', PNG);
        return publish(market, '/m', {
          plugins: [entry],
          shown: { iconFile: { path: 'a.png', sha256: sha256('other') } },
        });
      },
      {},
      'market_mismatch',
      'The icon of "held"',
    ],
    [
      'an icon with a script',
      () => {
        market.files.set('/m/a.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
        return publish(market, '/m', { plugins: [entry], shown: { iconFile: { path: 'a.svg' } } });
      },
      {},
      'icon_invalid',
      'The icon of "held"',
    ],
    [
      'an unknown source',
      () => publish(market, '/m', { plugins: [entry] }),
      { source: 'Theirs' },
      'not_found',
      'No marketplace source',
    ],
    [
      'an unknown version',
      () => publish(market, '/m', { plugins: [entry] }),
      { version: '9.0.0' },
      'not_found',
      'offers no held@9.0.0',
    ],
  ];
  test.each(REFUSED)('%s is refused and stores nothing', async (_name, prepare, request, reason, message) => {
    const marketplace = open([source(prepare())]);
    const error = await refusal(marketplace.install({ source: 'Ours', key: 'held', version: '1.0.0', ...request }));
    expect([error.code, error.message]).toEqual([`plugins.${reason}`, expect.stringContaining(message)]);
    expect(elsewhere.asked).toEqual([]);
    expect((await plugins.list()).some(({ key }) => key === 'held')).toBe(false);
  });

  test('a source that an upload would refuse can be read, with its faults and differences to the index', async () => {
    const odd = pluginSource({ key: 'odd', models: ['odd-1'], allowedHosts: ['cdn.example.com'] });
    const url = publish(market, '/odd', {
      plugins: [
        { key: 'odd', version: '1.0.0', source: odd },
        { key: 'bad', version: '1.0.0', source: 'export const meta = {};' },
      ],
      shown: { models: ['odd-1'] },
    });
    const marketplace = open([source(url)]);
    expect(await marketplace.read({ source: 'Ours', key: 'odd' })).toMatchObject({
      errors: [],
      differences: [{ message: 'The index says allowedHosts [], the plugin ["cdn.example.com"].' }],
    });
    const bad = await marketplace.read({ source: 'Ours', key: 'bad' });
    expect([bad.meta, bad.differences, bad.source]).toEqual([null, [], 'export const meta = {};']);
    expect(bad.errors.length).toBeGreaterThan(3);
  });
});

describe('a folder as a source', () => {
  const inside = join(scratch, 'mirror');
  const write = (path: string, text: string) => {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
  };
  const text = code('offline', '1.0.0');
  const index = (path: string) =>
    JSON.stringify({
      indexVersion: 1,
      name: 'Folder',
      plugins: [
        {
          key: 'offline',
          name: 'Offline',
          latest: '1.0.0',
          versions: [{ version: '1.0.0', path, sha256: sha256(text), minApiVersion: 1, kind: 'task' }],
        },
      ],
    });
  const folder = (path: string) => source(pathToFileURL(path).href);

  test('is listed and installed without any network', async () => {
    write(join(inside, 'a/index.json'), index('offline/1.0.0.js'));
    write(join(inside, 'a/offline/1.0.0.js'), text);
    for (const address of [join(inside, 'a'), `${join(inside, 'a')}/`, join(inside, 'a/index.json')]) {
      expect(await offer(open([folder(address)], { mirrorDir: inside }))).toMatchObject({
        name: 'Folder',
        plugins: [{ key: 'offline' }],
      });
    }
    const marketplace = open([folder(join(inside, 'a'))], { mirrorDir: inside });
    const installed = await marketplace.install({ source: 'Ours', key: 'offline', version: '1.0.0' });
    expect(installed.plugin).toMatchObject({ key: 'offline', active: true });
  });

  test('path traversal: nothing outside MARKETPLACE_DIR is read', async () => {
    const outside = join(scratch, 'outside');
    write(join(outside, 'index.json'), index('offline.js'));
    write(join(outside, 'offline.js'), text);
    mkdirSync(inside, { recursive: true });
    symlinkSync(outside, join(inside, 'link'));
    symlinkSync(join(outside, 'index.json'), join(inside, 'link.json'));
    const OUTSIDE = 'The file is outside MARKETPLACE_DIR, the only folder that is read.';
    const addresses: [url: string, error: string][] = [
      [pathToFileURL(outside).href, OUTSIDE],
      [`${pathToFileURL(inside).href}/../outside/index.json`, OUTSIDE],
      [`${pathToFileURL(inside).href}/%2e%2e/outside/index.json`, OUTSIDE],
      [`${pathToFileURL(inside).href}/..%2foutside/index.json`, OUTSIDE],
      [`${pathToFileURL(inside).href}-other/index.json`, OUTSIDE],
      [pathToFileURL(join(inside, 'link')).href, OUTSIDE],
      [pathToFileURL(join(inside, 'link.json')).href, OUTSIDE],
      ['file:///etc/passwd', OUTSIDE],
      ['file:///dev/zero', OUTSIDE],
      [pathToFileURL(join(inside, 'nothing')).href, 'The file cannot be read (ENOENT).'],
    ];
    for (const [url, error] of addresses)
      expect([url, (await offer(open([source(url)], { mirrorDir: inside }))).error?.message]).toEqual([url, error]);

    for (const path of ['../../outside/offline.js', '../link/offline.js', '%2e%2e/%2e%2e/outside/offline.js']) {
      write(join(inside, 'b/index.json'), index(path));
      const marketplace = open([folder(join(inside, 'b'))], { mirrorDir: inside });
      const error = await refusal(marketplace.read({ source: 'Ours', key: 'offline' }));
      expect([path, error.code, error.message]).toEqual([
        path,
        'plugins.market_failed',
        expect.stringContaining(OUTSIDE),
      ]);
    }
  });

  test('a pipe does not block the reader, and without MARKETPLACE_DIR no folder is read', async () => {
    mkdirSync(join(inside, 'c'), { recursive: true });
    await Bun.spawn(['mkfifo', join(inside, 'c/index.json')]).exited;
    expect((await offer(open([folder(join(inside, 'c'))], { mirrorDir: inside }))).error?.message).toBe(
      'It is not a regular file.',
    );
    mkdirSync(join(inside, 'd/index.json'), { recursive: true });
    expect((await offer(open([folder(join(inside, 'd'))], { mirrorDir: inside }))).error?.message).toBe(
      'It is not a regular file.',
    );
    expect((await offer(open([folder(join(inside, 'a'))]))).error?.message).toBe(
      'Folders are read only under MARKETPLACE_DIR, which is not set.',
    );
  });
});
