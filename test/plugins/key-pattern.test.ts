/** What a plugin reports about its vendor's keys, as a doubt about others. */
import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { checkSync } from 'recheck/lib/browser.js';
import type { Json } from '../../src/kernel/index.ts';
import { toKeyPattern } from '../../src/plugins/index.ts';
import { readVendorInfo } from '../../src/plugins/manifest/read-vendor-info.ts';

const PAIR = 'AKLTabc|c2VjcmV0==';
const FILE = '{\n  "type": "service_account"\n}';

describe.each<[formats: string[], usual: string[], unusual: string[]]>([
  [['sk-…'], ['sk-a', 'sk-proj-a_b-c'], ['ark-a', 'sk-', PAIR, 'sk-a|b', 'sk-a b', 'sk-a\nsk-b', FILE]],
  [['ACCESS_KEY|SECRET_KEY'], [PAIR], ['sk-a', 'AKLTabc|', '|c', 'a|b|c', 'a | b', FILE]],
  [
    ['ACCESS_KEY|SECRET_KEY', 'sk-…'],
    [PAIR, 'sk-a'],
    ['AKLTabc', FILE],
  ],
  [['{"type": "service_account", …}'], [FILE], ['sk-a', '"type"']],
  [['a.b+…'], ['a.b+c'], ['axb+c', 'a.bbc']],
])('keys like %j', (formats, usual, unusual) => {
  const pattern = new RegExp(toKeyPattern(formats));
  test.each(usual)('%j is one', (key) => expect(pattern.test(key)).toBe(true));
  test.each(unusual)('%j is none', (key) => expect(pattern.test(key)).toBe(false));
});

test('a format in words and no format say nothing of a key', () => {
  expect([toKeyPattern([]), toKeyPattern(['32 hexadecimal digits']), toKeyPattern(['sk-…', 'any text'])]).toEqual([
    '',
    '',
    '',
  ]);
});

test('regular expression denial of service: every pattern is linear', () => {
  const formats = ['a-…', 'ACCESS_KEY|SECRET_KEY|…', '{"type": …}', 'ACCESS_KEY|SECRET_KEY', '…'];
  const check = (given: string[]) => checkSync(toKeyPattern(given), '', { timeout: null }).status;
  expect(formats.map((format) => check([format]))).toEqual(formats.map(() => 'safe'));
  expect(check(formats)).toBe('safe');
});

/** Keys as the vendors give them out. */
const KEYS: Record<string, string> = {
  gemini: 'AIzaSyA-0_b',
  jimeng: PAIR,
  kling: PAIR,
  runway: 'key_0123abcd',
  sora: 'sk-proj-0_1',
  vertex: FILE,
};

test('every factory plugin takes a key of its vendor, and doubts one of another where it can', async () => {
  const folder = new URL('../../src/plugins/factory/', import.meta.url);
  const keys = readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => name.slice(0, -'.js'.length));
  for (const key of keys) {
    const { vendorInfo } = (await import(`${folder.href}${key}.js`)) as { vendorInfo: Json };
    const formats = readVendorInfo(vendorInfo)?.keyFormat ?? [];
    const pattern = toKeyPattern(formats);
    expect([key, pattern === '']).toEqual([key, formats.length === 0]);
    if (pattern === '') continue;
    const own = KEYS[key] ?? formats[0]?.replace('…', 'a1') ?? '';
    expect([key, new RegExp(pattern).test(own)]).toEqual([key, true]);
    expect([key, new RegExp(pattern).test('a|b|c')]).toEqual([key, false]);
  }
});
