/** What the executable holds as JSON comes back as it was. */
import { expect, test } from 'bun:test';
import { toJson } from '../../scripts/late-libraries.ts';

test('texts and tables come back as they were', () => {
  const exported = { STYLE: 'a {}', WORDS: { de: ['ja', null, 1, true] } };
  expect(JSON.parse(toJson('words.ts', exported))).toEqual(exported);
});

test.each([
  ['a function', () => 'a'],
  ['a function in a table', { of: () => 'a' }],
  ['a regular expression', /a/],
  ['a set', new Set(['a'])],
  ['a date', new Date(0)],
  ['an undefined member', { a: undefined }],
  ['NaN', [Number.NaN]],
  ['an object of a class', new URL('https://example.com')],
])('an export that is or has %s stops the build', (_, value) => {
  expect(() => toJson('words.ts', { TEXT: 'a', other: value })).toThrow(
    'words.ts is held as JSON, and its export other',
  );
});
