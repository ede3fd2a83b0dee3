import { describe, expect, test } from 'bun:test';
import {
  escapeHiddenCharacters,
  escapeHiddenInJson,
  hasHiddenCharacters,
  removeHiddenCharacters,
  sanitizeMessage,
} from '../../src/kernel/index.ts';
import { processorMs } from '../support/processor-time.ts';

const hidden: [what: string, text: string, without: string][] = [
  ['a line break', 'a\nb', 'a b'],
  ['an escape sequence', 'a\u001b[31mb', 'a [31mb'],
  ['a C1 control character', 'a\u009bb', 'a b'],
  ['a line separator', 'a\u2028b', 'a b'],
  ['a right-to-left override', 'a\u202eb', 'ab'],
  ['an isolate', '\u2067ab\u2069', 'ab'],
  ['an Arabic letter mark', 'a\u061cb', 'ab'],
  ['a space of no width', 'a\u200bb', 'ab'],
  ['a soft hyphen', 'a\u00adb', 'ab'],
  ['a byte order mark', '\ufeffab', 'ab'],
  ['a Hangul filler', 'a\u3164b', 'ab'],
  ['a joiner after a Latin letter', 'a\u200d\u200cb', 'ab'],
  ['a joiner in front', '\u200cab', 'ab'],
  ['tags after a Latin letter', 'ab\u{e0041}\u{e0042}', 'ab'],
  ['a blank of Braille', 'a\u2800b', 'ab'],
  ['variation selectors after a Latin letter', 'a\ufe00b\u{e0100}c', 'abc'],
  ['a sign of a musical phrase after a Latin letter', 'a\u{1d173}b', 'ab'],
  ['half of a pair', 'a\ud800b', 'a\ufffdb'],
];
const visible = [
  '',
  'Zoë Müller',
  '日本 語',
  'می‌خواهم',
  'അവന്‍',
  '👨‍👩‍👧',
  '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
  'חיים',
  '1\ufe0f\u20e3 葛\u{e0100}城 ❤\ufe0f',
];

describe('names that look like another one', () => {
  test.each(hidden)('%s is seen, and taken out', (_what, text, without) => {
    expect(hasHiddenCharacters(text)).toBe(true);
    expect(removeHiddenCharacters(text)).toBe(without);
    expect(hasHiddenCharacters(removeHiddenCharacters(text))).toBe(false);
  });
  test.each(visible)('%p stays as it is', (text) => {
    expect(hasHiddenCharacters(text)).toBe(false);
    expect(removeHiddenCharacters(text)).toBe(text);
    expect(escapeHiddenCharacters(text)).toBe(text);
  });
  test('a message of a vendor is shown without them', () => {
    expect(sanitizeMessage(' too\nlong \u202e ')).toBe('too long');
  });
  test('escapes are readable, and JSON stays the same value', () => {
    expect(escapeHiddenCharacters('a\n\u001b\u009b\u202e')).toBe('a\\n\\u001b\\u009b\\u202e');
    const json = JSON.stringify({ 'k\u2028': 'v\u202e\u007f\n' });
    expect(escapeHiddenInJson(json)).not.toMatch(/[\u2028\u202e\u007f]/);
    expect(JSON.parse(escapeHiddenInJson(json))).toEqual(JSON.parse(json));
  });
  test('a long text of joiners costs no more than its length', () => {
    const read = () => {
      hasHiddenCharacters(`é${'\u200d'.repeat(1_000_000)}`);
      removeHiddenCharacters('\u200d'.repeat(1_000_000));
    };
    expect(processorMs(read)).toBeLessThan(1000);
  });
});
