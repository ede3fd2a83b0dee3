import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createPathReader, isDecodable } from '../../../src/http/pipeline/request-path.ts';
import { rounds } from '../../support/full-run.ts';

/** What the URL parser says. */
const parsed = (url: string) => {
  if (!URL.canParse(url)) return undefined;
  return new URL(url).pathname;
};

describe('an address is read as the URL parser reads it', () => {
  const rows = [
    'http://127.0.0.1:3000/v1/tasks/task_1',
    'http://localhost/',
    'http://localhost',
    'http://localhost?x=/y',
    'http://localhost#/x',
    'https://gate.example:443/api/user/self?x=1#y',
    'http://gate.example/a/../b',
    'http://gate.example/a/./b/..',
    'http://gate.example/a/%2e%2e/b',
    'http://gate.example/a..b/c.d/..e',
    'http://gate.example//a//',
    'http://gate.example/a\\b',
    'http://gate.example/a b',
    'http://gate.example/ä',
    'http://gate.example/a#b?c',
    'http://gate.example/a?b#c/../d',
    'http://GATE.example/a',
    'http://u:p@gate.example/a',
    'http://gate.example:99999/a',
    'http://1.2.3.999/a',
    'http://127.1/a',
    'http://[::1]:3000/a',
    'http://[::1/a',
    'http:///a/b',
    'http://a/b',
    'http:// /a',
    'http://xn--a/b',
    '/a',
    '',
  ];
  test.each(rows)('%j', (url) => {
    const read = createPathReader();
    expect(read(url)).toEqual(parsed(url));
    expect(read(url)).toEqual(parsed(url));
  });

  test('any host, path and query', () => {
    const read = createPathReader();
    const part = fc.string({ unit: fc.constantFrom(...'ab1.%:/\\?#@ []~-_\t\nÄ'), maxLength: 12 });
    fc.assert(
      fc.property(fc.constantFrom('http', 'https'), part, part, (scheme, host, rest) => {
        for (const url of [`${scheme}://${host}/${rest}`, `${scheme}://gate.example/${host}${rest}`]) {
          expect(read(url)).toEqual(parsed(url));
        }
      }),
      { numRuns: rounds(5000) },
    );
  });
});

test('broken percent escapes are found', () => {
  expect(['/a', '/%C3%A4', '/%FF', '/%E0%A4', '/%'].map(isDecodable)).toEqual([true, true, false, false, false]);
});
