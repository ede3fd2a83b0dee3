import { expect, test } from 'bun:test';
import { readVendorInfo } from '../../src/plugins/manifest/read-vendor-info.ts';

test('what a plugin tells of its vendor is read, texts as maps', () => {
  const info = {
    keyUrl: 'https://example.com/keys',
    keyFormat: 'sk-…',
    keyHelp: 'One a project.',
    listPrices: { url: 'https://example.com/prices', asOf: '2026-05-01', models: { a: '0.1 * u("seconds")' } },
    ranges: { seconds: { minimum: 1, maximum: 60 } },
    examples: [{ label: { en: 'Boat', zh: '船' }, models: ['a'], request: { prompt: 'a boat', seconds: 4 } }],
  };
  expect(readVendorInfo(info)).toEqual({ ...info, keyHelp: { en: 'One a project.' } });
});

test.each([
  ['another host’s export of that name', 'text'],
  ['a list', []],
  ['nothing of it', { keys: 1 }],
  ['a script as address', { keyUrl: 'javascript:alert(1)' }],
  ['texts without English', { keyHelp: { zh: '密钥' } }],
  ['long texts', { keyFormat: 'x'.repeat(101), keyHelp: 'x'.repeat(513) }],
  ['prices that are no texts', { listPrices: { models: { a: 1 } } }],
  ['an example without a request', { examples: [{ label: 'a' }] }],
  ['a huge example', { examples: [{ label: 'a', request: { prompt: 'x'.repeat(9000) } }] }],
])('%s is left out, and is no fault', (_what, value) => {
  expect(readVendorInfo(value as never)).toBeUndefined();
});
