/**
 * The reader of marketplace indexes, entry by entry: what it accepts, what it skips and why, what
 * it hides.
 */
import { describe, expect, test } from 'bun:test';
import { compareVersions, newestVersion } from '../../src/plugins/market-index/order-versions.ts';
import { readIndex } from '../../src/plugins/market-index/read-index.ts';
import type { MarketIndex, MarketPlugin } from '../../src/plugins/market-index/types.ts';
import { indexLocation } from '../../src/plugins/marketplace/fetch-file.ts';
import { installState } from '../../src/plugins/marketplace/offer-plugins.ts';
import { parseMarketSources, repinSources, replaceSources } from '../../src/settings/catalogue/market-sources.ts';

const BASE = new URL('https://market.example/plugins/index.json');
const HASH = 'ab'.repeat(32);
const version = (change: object = {}) => ({
  version: '1.0.0',
  path: 'acme/1.0.0.js',
  sha256: HASH,
  minApiVersion: 1,
  kind: 'task',
  ...change,
});
const plugin = (change: object = {}) => ({
  key: 'acme',
  name: 'Acme',
  latest: '1.0.0',
  versions: [version()],
  ...change,
});
const write = (plugins: unknown[], change: object = {}) =>
  JSON.stringify({ indexVersion: 1, name: 'Market', plugins, ...change });

function read(plugins: unknown[], base = BASE): MarketIndex {
  const index = readIndex(write(plugins), base);
  if (!index.ok) throw new Error(index.error.message);
  return index.value;
}
/** The one plugin of an index that holds this entry. */
function shown(change: object): MarketPlugin {
  const { plugins, skipped } = read([plugin(change)]);
  expect(skipped).toEqual([]);
  const [first] = plugins;
  if (!first) throw new Error('nothing was read');
  return first;
}

test('versions with endless numbers are ordered like others, and remove no other entry', () => {
  const [huge, larger] = ['9'.repeat(20), `1${'0'.repeat(20)}`];
  const versions = [`${huge}.0.0`, '1.0.0', `${larger}.0.0`, `1.0.0-${huge}`, `1.0.0-${larger}`, '1.0.0-rc.1'];
  const { plugins, skipped } = read([
    plugin({ versions: versions.map((each) => version({ version: each })), latest: 'x' }),
    plugin({ key: 'other' }),
  ]);
  expect(skipped).toEqual([]);
  expect(plugins.map(({ key, latest }) => [key, latest])).toEqual([
    ['acme', `${larger}.0.0`],
    ['other', '1.0.0'],
  ]);
  expect(plugins[0]?.versions.map((each) => each.version)).toEqual([
    `${larger}.0.0`,
    `${huge}.0.0`,
    '1.0.0',
    '1.0.0-rc.1',
    `1.0.0-${larger}`,
    `1.0.0-${huge}`,
  ]);
});

test('semantic versions have the order of semver.org, section 11', () => {
  const ordered = [
    ...['0.9.10', '1.0.0-1', '1.0.0-2', '1.0.0-10', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta'],
    ...['1.0.0-beta', '1.0.0-beta.2', '1.0.0-beta.11', '1.0.0-rc.1', '1.0.0', '1.0.9', '1.0.10', '2.0.0', '10.0.0'],
  ];
  for (const [at, one] of ordered.entries())
    for (const [index, other] of ordered.entries())
      expect([one, other, Math.sign(compareVersions(`${one}+b`, other))]).toEqual([one, other, Math.sign(at - index)]);
});

describe('what is not an index is refused', () => {
  test.each([
    ['an empty file', '', 'The index is not JSON.'],
    ['a page', '<!doctype html><title>404</title>', 'The index is not JSON.'],
    ['nesting without end', '['.repeat(100_000), 'The index is not JSON.'],
    ['a list', '[]', 'The index is not a JSON object.'],
    ['null', 'null', 'The index is not a JSON object.'],
    ['no version', '{"plugins":[]}', 'This gateway supports only indexes with indexVersion 1.'],
    ['a later version', write([], { indexVersion: 2 }), 'This gateway supports only indexes with indexVersion 1.'],
    ['a version in words', write([], { indexVersion: '1' }), 'This gateway supports only indexes with indexVersion 1.'],
    ['no plugins', write([], { plugins: undefined }), 'The index has no list of plugins.'],
    ['plugins by key', write([], { plugins: { acme: plugin() } }), 'The index has no list of plugins.'],
  ])('%s', (_name, text, message) => {
    expect(readIndex(text, BASE)).toMatchObject({ ok: false, error: { message } });
  });
});

test('a byte-order mark before the text means nothing', () => {
  expect(readIndex(`\uFEFF${write([plugin()])}`, BASE)).toEqual(readIndex(write([plugin()]), BASE));
});

test('a whole entry', () => {
  const index = read([
    plugin({
      icon: 'Acme.Color',
      iconFile: { path: './acme/acme.SVG?v=2', sha256: HASH.toUpperCase() },
      description: { EN: ' Videos ', 'zh-hans-cn': '视频' },
      sortPriority: -7,
      website: 'https://acme.example/',
      channelTypes: [50, 'x'],
      models: ['acme-1', 2, ' acme-2 '],
      latest: '1.1.0-rc.1',
      versions: [
        version({
          sha256: HASH.toUpperCase(),
          allowedHosts: ['CDN.Acme.example', 'a b'],
          baseUrl: 'https://API.acme.example/',
        }),
        version({
          version: '1.1.0-rc.1',
          path: '/other/place.js',
          minApiVersion: undefined,
          auth: { type: 'oauth2_jwt' },
        }),
      ],
    }),
  ]);
  expect(index).toEqual({
    name: 'Market',
    revoked: [],
    skipped: [],
    hidden: [],
    plugins: [
      {
        key: 'acme',
        name: 'Acme',
        icon: 'Acme.Color',
        iconFile: { url: 'https://market.example/plugins/acme/acme.SVG?v=2', sha256: HASH, mimeType: 'image/svg+xml' },
        description: { en: 'Videos', 'zh-Hans-CN': '视频' },
        sortPriority: -7,
        website: 'https://acme.example/',
        channelTypes: [50],
        models: ['acme-1', 'acme-2'],
        latest: '1.1.0-rc.1',
        versions: [
          {
            version: '1.1.0-rc.1',
            url: 'https://market.example/other/place.js',
            sha256: HASH,
            minApiVersion: 1,
            allowedHosts: [],
          },
          {
            version: '1.0.0',
            url: 'https://market.example/plugins/acme/1.0.0.js',
            sha256: HASH,
            minApiVersion: 1,
            allowedHosts: ['cdn.acme.example'],
            baseUrl: 'https://api.acme.example',
          },
        ],
      },
    ],
  });
});

describe('an entry that cannot be installed is skipped with its reason', () => {
  test.each<[name: string, entry: unknown, reason: string]>([
    ['no object', 'acme', 'not an object'],
    ['null', null, 'not an object'],
    ['no key', plugin({ key: undefined }), 'key must consist of'],
    ['a key with capitals', plugin({ key: 'Acme' }), 'key must consist of'],
    ['a key that is too long', plugin({ key: 'a'.repeat(31) }), 'key must consist of'],
    ['a reserved key', plugin({ key: 'marketplace' }), 'key must consist of'],
    ['a key of the prototype', plugin({ key: '__proto__' }), 'key must consist of'],
    ['no name', plugin({ name: ' ' }), 'name is missing'],
    ['no versions', plugin({ versions: undefined }), 'at least one version'],
    ['an empty list of versions', plugin({ versions: [] }), 'at least one version'],
    ['a version that is not an object', plugin({ versions: ['1.0.0'] }), 'the version is not an object'],
    ['a version in two numbers', plugin({ versions: [version({ version: '1.0' })] }), 'semantic version'],
    ['a version with a v', plugin({ versions: [version({ version: 'v1.0.0' })] }), 'semantic version'],
    ['another kind', plugin({ versions: [version({ kind: 'image' })] }), 'kind must be "task"'],
    ['no kind', plugin({ versions: [version({ kind: undefined })] }), 'kind must be "task"'],
    [
      'a later API',
      plugin({ versions: [version({ minApiVersion: 2 })] }),
      'is made for a newer contract (needs plugin API 2)',
    ],
    [
      'an API in words',
      plugin({ versions: [version({ minApiVersion: '1' })] }),
      'minApiVersion must be a whole number',
    ],
    ['no hash', plugin({ versions: [version({ sha256: undefined })] }), 'sha256 must have 64'],
    ['half a hash', plugin({ versions: [version({ sha256: 'ab'.repeat(16) })] }), 'sha256 must have 64'],
    ['no path', plugin({ versions: [version({ path: undefined })] }), 'path must be a path'],
    ['an empty path', plugin({ versions: [version({ path: '' })] }), 'path must be a path'],
    ['another host', plugin({ versions: [version({ path: 'https://evil.example/x.js' })] }), 'is on another origin'],
    ['a host without scheme', plugin({ versions: [version({ path: '//evil.example/x.js' })] }), 'is on another origin'],
    [
      'another port',
      plugin({ versions: [version({ path: 'https://market.example:8443/x.js' })] }),
      'is on another origin',
    ],
    ['another scheme', plugin({ versions: [version({ path: 'http://market.example/x.js' })] }), 'is on another origin'],
    ['a file of the server', plugin({ versions: [version({ path: 'file:///etc/passwd' })] }), 'is on another origin'],
    ['a data URL', plugin({ versions: [version({ path: 'data:text/javascript,1' })] }), 'is on another origin'],
    ['a script', plugin({ versions: [version({ path: 'javascript:alert(1)' })] }), 'is on another origin'],
    [
      'credentials',
      plugin({ versions: [version({ path: 'https://a:b@market.example/x.js' })] }),
      'contains credentials',
    ],
    [
      'backslashes',
      plugin({ versions: [version({ path: '\\\\evil.example\\x.js' })] }),
      'without whitespace, backslashes',
    ],
    ['a line break', plugin({ versions: [version({ path: 'a\n.js' })] }), 'without whitespace, backslashes'],
    ['no URL', plugin({ versions: [version({ path: 'https://[' })] }), 'path is not a valid path'],
  ])('%s', (_name, entry, reason) => {
    const { plugins, skipped } = read([entry, plugin({ key: 'sound' })]);
    expect(plugins.map(({ key }) => key)).toEqual(['sound']);
    expect(skipped).toHaveLength(1);
    expect(skipped[0]).toMatchObject({ index: 0 });
    expect(skipped[0]?.message).toContain(reason);
  });

  test('names key and version where they are known, and keeps the valid entries', () => {
    const { plugins, skipped } = read([
      plugin({
        versions: [version({ version: '2.0.0', minApiVersion: 3 }), version(), version(), version({ version: 'x' })],
      }),
      plugin({ name: 'Again' }),
    ]);
    expect(plugins.map(({ name, latest, versions }) => [name, latest, versions.length])).toEqual([
      ['Acme', '1.0.0', 1],
    ]);
    expect(skipped).toMatchObject([
      {
        ...{ index: 0, key: 'acme', version: '2.0.0', needs: [{ code: 'api' as const, version: 3 }] },
        message: 'is made for a newer contract (needs plugin API 3)',
      },
      { index: 0, key: 'acme', version: '1.0.0', message: 'the version is listed twice' },
      { index: 0, key: 'acme', message: 'version must be a semantic version' },
      { index: 1, key: 'acme', message: 'an earlier entry has this key' },
    ]);
  });

  test('an index of nothing but faults gives a short answer', () => {
    const { plugins, skipped } = read(Array.from({ length: 5000 }, () => 0));
    expect([plugins.length, skipped.length]).toEqual([0, 500]);
  });
});

describe('fields that are only displayed', () => {
  test.each<[name: string, change: object, field: keyof MarketPlugin, value: unknown]>([
    ['a website', { website: 'https://acme.example/a?b' }, 'website', 'https://acme.example/a?b'],
    ['no website', { website: '' }, 'website', undefined],
    ['a website in clear', { website: 'http://acme.example' }, 'website', undefined],
    ['a website with credentials', { website: 'https://a:b@acme.example' }, 'website', undefined],
    ['a website that is a script', { website: 'javascript:alert(1)' }, 'website', undefined],
    ['a website with blanks', { website: 'https://acme.example/a b' }, 'website', undefined],
    ['a website that is not text', { website: 7 }, 'website', undefined],
    ['a priority', { sortPriority: 2147483647 }, 'sortPriority', 2147483647],
    ['the lowest priority', { sortPriority: -2147483648 }, 'sortPriority', -2147483648],
    ['no priority', {}, 'sortPriority', 0],
    ['a priority that is too high', { sortPriority: 2147483648 }, 'sortPriority', 0],
    ['half a priority', { sortPriority: 1.5 }, 'sortPriority', 0],
    ['a priority in words', { sortPriority: '5' }, 'sortPriority', 0],
    ['a text', { description: 'Videos' }, 'description', { en: 'Videos' }],
    ['a text without English', { description: { zh: '视频' } }, 'description', { en: '视频', zh: '视频' }],
    ['a text with a wrong part', { description: { en: 'Videos', zh: 7, '<b>': 'x' } }, 'description', { en: 'Videos' }],
    ['no text', { description: [] }, 'description', undefined],
    ['an icon', { icon: 'text:AC' }, 'icon', 'text:AC'],
    ['an icon that is an image', { icon: 'data:image/png;base64,AA' }, 'icon', undefined],
    ['an icon that is an address', { icon: 'https://evil.example/pixel.png' }, 'icon', undefined],
    ['an icon file elsewhere', { iconFile: { path: 'https://evil.example/a.png' } }, 'iconFile', undefined],
    ['an icon file of another kind', { iconFile: { path: 'a.gif' } }, 'iconFile', undefined],
    ['an icon file with half a hash', { iconFile: { path: 'a.png', sha256: 'ab' } }, 'iconFile', undefined],
    [
      'an icon file without hash',
      { iconFile: { path: 'a.png' } },
      'iconFile',
      { url: 'https://market.example/plugins/a.png', mimeType: 'image/png' },
    ],
    ['latest that is not there', { latest: '9.0.0' }, 'latest', '1.0.0'],
    [
      'the newest release for latest',
      {
        latest: undefined,
        versions: [
          version(),
          version({ version: '1.10.0' }),
          version({ version: '1.9.0' }),
          version({ version: '2.0.0-rc.1' }),
        ],
      },
      'latest',
      '1.10.0',
    ],
  ])('%s', (_name, change, field, value) => {
    expect(shown(change)[field]).toEqual(value as never);
  });

  test('plugins are ordered by priority, then by key', () => {
    const entries = [
      ['b', 0],
      ['low', -1],
      ['a', 'x'],
      ['high', 9],
    ].map(([key, sortPriority]) => plugin({ key, sortPriority }));
    expect(read(entries).plugins.map(({ key }) => key)).toEqual(['high', 'a', 'b', 'low']);
  });

  test('paths of a folder’s index stay in the folder', () => {
    const base = new URL('file:///srv/market/index.json');
    const paths = ['acme/1.js', 'https://evil.example/x.js', '//evil.example/x.js'];
    const { plugins, skipped } = read(
      paths.map((path, at) => plugin({ key: `p${at}`, versions: [version({ path })] })),
      base,
    );
    expect(plugins.map(({ versions }) => versions[0]?.url)).toEqual(['file:///srv/market/acme/1.js']);
    expect(skipped.map(({ message }) => message)).toEqual(Array(2).fill('path is on another origin than the index'));
  });
});

describe('install states', () => {
  const offered = {
    latest: '2.0.0',
    versions: [
      { version: '2.0.0', sha256: 'new' },
      { version: '1.0.0', sha256: 'old' },
    ],
  } as unknown as MarketPlugin;
  const has = (version: string, sourceHash: string) => ({ version, sourceHash });
  test.each([
    ['nothing is there', undefined, [], 'not_installed'],
    ['the latest', has('2.0.0', 'new'), [], 'up_to_date'],
    ['an older one of the market', has('1.0.0', 'old'), [], 'upgradable'],
    ['an older one that the market does not have', has('1.5.0', 'own'), [], 'upgradable'],
    ['a pre-release of the latest', has('2.0.0-rc.1', 'own'), [], 'upgradable'],
    ['the latest stored, an older one active', has('1.0.0', 'old'), [has('2.0.0', 'new')], 'upgradable'],
    ['the latest with another source', has('2.0.0', 'mine'), [], 'diverged'],
    ['an older one with another source', has('1.0.0', 'mine'), [], 'diverged'],
    ['a newer one', has('2.0.1', 'own'), [], 'diverged'],
    ['the same number with another build', has('2.0.0+own', 'own'), [], 'diverged'],
    ['the latest stored with another source', has('1.0.0', 'old'), [has('2.0.0', 'mine')], 'diverged'],
  ] as const)('%s', (_name, installed, stored, state) => {
    expect(installState(offered, installed, installed ? [installed, ...stored] : [])).toBe(state);
  });

  test('the newest release comes before pre-releases', () => {
    expect(newestVersion(['1.0.0', '1.10.0', '1.9.9', '2.0.0-rc.1'])).toBe('1.10.0');
    expect(newestVersion(['1.0.0-alpha.2', '1.0.0-alpha.11', '1.0.0-alpha'])).toBe('1.0.0-alpha.11');
    expect(newestVersion([])).toBeUndefined();
  });
});

describe('the list of sources', () => {
  const good = { name: 'Ours', index_url: 'https://market.example/index.json' };
  test.each<[name: string, value: unknown, field: string, message: string]>([
    ['no list', {}, '', 'must be a list of at most 20'],
    ['too many', Array(21).fill(good), '', 'must be a list of at most 20'],
    [
      'an entry that is not an object',
      ['https://market.example'],
      '0',
      'must be an object {name, index_url, public_key?}',
    ],
    ['an unknown field', [{ ...good, token: 'x' }], '0.token', 'it takes name, index_url and public_key'],
    ['no name', [good, { index_url: 'https://a.example' }], '1.name', 'The name of source 2 must be one line'],
    ['a blank name', [{ ...good, name: ' ' }], '0.name', 'must be one line'],
    ['a long name', [{ ...good, name: 'x'.repeat(61) }], '0.name', 'must be one line'],
    ['a name of two lines', [{ ...good, name: 'a\nb' }], '0.name', 'must be one line'],
    ['one name for two', [good, { ...good, name: 'OURS' }], '1.name', 'taken by another source'],
    ['no address', [{ name: 'Ours' }], '0.index_url', 'is missing'],
    [
      'a path',
      [{ ...good, index_url: '/srv/market' }],
      '0.index_url',
      'must be an absolute http or https URL, or file://',
    ],
    ['another scheme', [{ ...good, index_url: 'ftp://market.example' }], '0.index_url', 'must be an absolute http'],
    ['credentials', [{ ...good, index_url: 'https://a:b@market.example' }], '0.index_url', 'no credentials'],
    ['a fragment', [{ ...good, index_url: 'https://market.example#x' }], '0.index_url', 'no fragment'],
    [
      'a file of another machine',
      [{ ...good, index_url: 'file://host/srv' }],
      '0.index_url',
      'must be an absolute http',
    ],
    ['a key that is none', [{ ...good, public_key: 'RWQ' }], '0.public_key', 'the last line of a minisign.pub'],
    [
      'a long address',
      [{ ...good, index_url: `https://market.example/${'x'.repeat(500)}` }],
      '0.index_url',
      'at most 500',
    ],
  ])('%s is refused', (_name, value, field, message) => {
    const parsed = parseMarketSources(value as never);
    expect(parsed).toMatchObject({ ok: false, error: { field } });
    expect(parsed.ok ? '' : parsed.error.message).toContain(message);
  });

  const key = `RWQ${'a'.repeat(53)}`;

  test('a client that does not know of keys keeps them, for the same address only', () => {
    const before = JSON.stringify([
      { ...good, public_key: key },
      { name: 'other', index_url: 'https://other.example' },
    ]);
    const replaced = (public_key?: string | null, index_url = good.index_url) =>
      JSON.parse(
        replaceSources(before, [{ name: 'renamed', index_url, ...(public_key === undefined ? {} : { public_key }) }]),
      );
    expect(replaced()).toEqual([{ name: 'renamed', index_url: good.index_url, public_key: key }]);
    expect(replaced(null)).toEqual([{ name: 'renamed', index_url: good.index_url }]);
    expect(replaced(undefined, 'https://moved.example')).toEqual([
      { name: 'renamed', index_url: 'https://moved.example' },
    ]);
  });

  test('a source is pinned only while it has the key that it had', () => {
    const text = JSON.stringify([good, { name: 'other', index_url: 'https://other.example' }]);
    const repin = (from: string | undefined, to: string | undefined, before = text) =>
      repinSources(before, { indexUrl: good.index_url, from, to });
    const pinned = repin(undefined, key);
    expect(JSON.parse(pinned ?? '')).toEqual([{ ...good, public_key: key }, JSON.parse(text)[1]]);
    expect(repin(key, undefined)).toBeUndefined();
    expect(repin(undefined, key, pinned)).toBeUndefined();
    expect(repin(key, undefined, pinned)).toBe(text);
  });

  test('addresses and folders are accepted, and an empty list too', () => {
    expect(parseMarketSources([])).toEqual({ ok: true, value: [] });
    const urls = [
      'http://10.0.0.7:8080/index.json',
      'file:///srv/market',
      'file:///srv/market/',
      'file:///srv/other.json',
    ];
    const parsed = parseMarketSources(urls.map((index_url, at) => ({ name: `m${at}`, index_url })));
    if (!parsed.ok) throw new Error(parsed.error.message);
    expect(parsed.value.map((source) => indexLocation(source).href)).toEqual([
      'http://10.0.0.7:8080/index.json',
      'file:///srv/market/index.json',
      'file:///srv/market/index.json',
      'file:///srv/other.json',
    ]);
  });
});

describe('the lists inside an index', () => {
  test('are read up to their limits, and a remark says what is not', () => {
    const locales = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`en-X${i}`, 'a']));
    const { plugins, hidden, skipped } = read([
      plugin({
        channelTypes: Array.from({ length: 1000 }, (_, i) => i),
        models: Array.from({ length: 1000 }, (_, i) => `m${i}`),
        description: locales,
        versions: [version({ allowedHosts: Array.from({ length: 1000 }, (_, i) => `h${i}.example`) })],
      }),
    ]);
    const [read0] = plugins;
    expect(read0?.channelTypes).toHaveLength(64);
    expect(read0?.models).toHaveLength(500);
    expect(read0?.versions[0]?.allowedHosts).toHaveLength(64);
    expect(Object.keys(read0?.description ?? {}).length).toBeLessThanOrEqual(17);
    expect(skipped).toEqual([]);
    expect(hidden.map(({ message }) => message).sort()).toEqual([
      'allowedHosts has more than 64 entries; the others are not read',
      'channelTypes has more than 64 entries; the others are not read',
      'description has more than 16 entries; the others are not read',
      'models has more than 500 entries; the others are not read',
    ]);
  });

  test('have a limit together', () => {
    const models = Array.from({ length: 500 }, (_, i) => `m${i}`);
    const { plugins, hidden } = read(Array.from({ length: 200 }, (_, i) => plugin({ key: `p${i}`, models })));
    const kept = plugins.reduce((sum, each) => sum + each.models.length, 0);
    expect(kept).toBeLessThanOrEqual(50_000);
    expect(kept).toBeGreaterThan(49_000);
    expect(hidden.map(({ message }) => message)).toContain(
      'the index has more than 50000 details; the others are not read',
    );
  });
});
