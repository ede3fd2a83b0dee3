import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { listLanguages } from '../../scripts/check-texts.ts';
import type { Json } from '../../src/kernel/index.ts';
import { readVendorInfo } from '../../src/plugins/manifest/read-vendor-info.ts';

test('what a plugin reports about its vendor is read, texts as maps', () => {
  const info = {
    keyUrl: 'https://example.com/keys',
    keyFormat: 'sk-…',
    keyHelp: 'One a project.',
    listPrices: { url: 'https://example.com/prices', asOf: '2026-05-01', models: { a: '0.1 * u("seconds")' } },
    capacity: { slots: 'u("images")', queues: true },
    ranges: { seconds: { minimum: 1, maximum: 60 } },
    examples: [{ label: { en: 'Boat', zh: '船' }, models: ['a'], request: { prompt: 'a boat', seconds: 4 } }],
  };
  const numbers = { kind: 'numbers', minimum: 1, maximum: 60, whole: false };
  expect(readVendorInfo(info) as unknown).toEqual({
    ...info,
    keyFormat: ['sk-…'],
    keyHelp: { en: 'One a project.' },
    ranges: { seconds: { all: numbers, models: {} } },
  });
});

test('a range is read for all models and for some, and what is none is left out', () => {
  const seconds = { minimum: 3, maximum: 15, whole: true, models: { old: { values: [5, 10] }, still: null, bad: 5 } };
  const size = { models: { small: { values: ['720p'] }, odd: { values: [{}] }, empty: { values: [] } } };
  const turned = { minimum: 9, maximum: 1 };
  const info = readVendorInfo({ ranges: { seconds, size, kind: null, turned, half: { minimum: 1 } } });
  expect(info?.ranges).toEqual({
    seconds: {
      all: { kind: 'numbers', minimum: 3, maximum: 15, whole: true },
      models: { old: { kind: 'values', values: [5, 10] }, still: null },
    },
    size: { all: { kind: 'any' }, models: { small: { kind: 'values', values: ['720p'] } } },
    kind: { all: null, models: {} },
  });
});

test('inputs are read, and what is none is left out', () => {
  const image = { type: 'image', required: true, models: ['a', 5] };
  const voice = { type: 'text', description: 'A voice.', example: 'x' };
  const info = readVendorInfo({ inputs: { image, voice, odd: { type: 'file' }, 'no name': voice, list: [] } });
  expect(info?.inputs).toEqual({
    image: { type: 'image', required: true, models: ['a'] },
    voice: { type: 'text', required: false, description: { en: 'A voice.' }, example: 'x' },
  });
});

test('labels are read, and what is none is left out', () => {
  const seconds = { en: 'Duration', de: 'Dauer' };
  const labels = { seconds, size: 'Size', odd: 5, long: 'x'.repeat(65), none: { de: 'Nur Deutsch' } };
  expect(readVendorInfo({ labels })?.labels).toEqual({ seconds, size: { en: 'Size' } });
});

test('every fact and input of a factory plugin has a label, and the plugin a description, in each language', async () => {
  for (const name of readdirSync(FACTORY).filter((file) => file.endsWith('.js'))) {
    const { meta, vendorInfo } = (await import(`${FACTORY.href}${name}`)) as FactoryModule;
    const read = readVendorInfo(vendorInfo as never);
    const fields = [...Object.keys(meta.usageSchema ?? {}), ...Object.keys(read?.inputs ?? {})];
    const texts = [meta.description, ...fields.map((field) => read?.labels?.[field])];
    const lacking = texts.flatMap((text, at) =>
      listLanguages().some((language) => !text?.[language]) ? [fields[at - 1] ?? 'description'] : [],
    );
    expect([name, lacking]).toEqual([name, []]);
  }
});

test.each([
  ['another host’s export of that name', 'text'],
  ['a list', []],
  ['nothing of it', { keys: 1 }],
  ['a script as address', { keyUrl: 'javascript:alert(1)' }],
  ['texts without English', { keyHelp: { zh: '密钥' } }],
  ['long texts', { keyFormat: 'x'.repeat(101), keyHelp: 'x'.repeat(513) }],
  ['a format that is not text', { keyFormat: ['sk-…', 5] }],
  ['places that are not an expression', { capacity: { slots: 3, queues: 'yes' } }],
  ['prices that are not texts', { listPrices: { models: { a: 1 } } }],
  ['an example without a request', { examples: [{ label: 'a' }] }],
  ['a huge example', { examples: [{ label: 'a', request: { prompt: 'x'.repeat(9000) } }] }],
])('%s is left out, and is not a fault', (_what, value) => {
  expect(readVendorInfo(value as never)).toBeUndefined();
});

type FactoryModule = {
  meta: { baseUrl?: string; description?: Record<string, string>; usageSchema?: object };
  vendorInfo: Record<string, Json>;
};

const FACTORY = new URL('../../src/plugins/factory/', import.meta.url);
/** Domains whose pages give out keys, where they are not those of the base URL. */
const OWNERS: Readonly<Record<string, string>> = {
  ali: 'alibabacloud.com',
  doubao: 'volcengine.com',
  fal: 'fal.ai',
  gemini: 'google.com',
  jimeng: 'volcengine.com',
  'qwen-image': 'aliyun.com',
  seedream: 'volcengine.com',
  sunoapi: 'sunoapi.org',
  vertex: 'google.com',
};

/** Domains of the same vendor that list prices in US dollars. */
const PRICE_OWNERS: Readonly<Record<string, string>> = { seedream: 'byteplus.com' };

test('links of the factory plugins are of the vendor’s own domain, and all that they tell is read', async () => {
  // A ComfyUI of one's own has neither keys nor prices.
  const keys = readdirSync(FACTORY)
    .filter((name) => name.endsWith('.js') && name !== 'demo.js' && name !== 'comfyui.js')
    .map((name) => name.slice(0, -'.js'.length));
  for (const key of keys) {
    const { meta, vendorInfo } = (await import(`${FACTORY.href}${key}.js`)) as FactoryModule;
    // A vendor's name and its top-level domain.
    const owner = OWNERS[key] ?? new URL(meta.baseUrl ?? '').hostname.split('.').slice(-2).join('.');
    const read = readVendorInfo(vendorInfo as never);
    expect(Object.keys(read ?? {})).toEqual(expect.arrayContaining(Object.keys(vendorInfo)));
    expect(Object.keys(read?.ranges ?? {})).toEqual(Object.keys(vendorInfo.ranges as object));
    const links = [
      [read?.keyUrl, owner],
      [read?.listPrices?.url ?? read?.keyUrl, PRICE_OWNERS[key] ?? owner],
    ];
    for (const [link, domain] of links) {
      const { protocol, hostname } = new URL(link ?? '');
      const isOwn = hostname.endsWith(`.${domain}`) || hostname === domain;
      expect({ key, link, protocol, isOwn }).toEqual({ key, link, protocol: 'https:', isOwn: true });
    }
  }
});
