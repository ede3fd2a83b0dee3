/** What the palette marks in what it found. */
import { expect, test } from 'bun:test';
import { splitMatches } from '../../src/panel/shell/palette/find-entries.ts';

const marked = (text: string, query: string): string =>
  splitMatches(text, query)
    .map(({ part, isMatch }) => (isMatch ? `[${part}]` : part))
    .join('');

test('each word of the query is marked wherever it stands, in either case', () => {
  expect(marked('demo-video', 'demo-video')).toBe('[demo-video]');
  expect(marked('Demo vendor', 'demo')).toBe('[Demo] vendor');
  expect(marked('Ein Löwe im Löwengehege', 'löwe')).toBe('Ein [Löwe] im [Löwe]ngehege');
  expect(marked('a paper boat', ' boat  paper ')).toBe('a [paper] [boat]');
  expect(marked('nothing', '')).toBe('nothing');
});

test('what has a meaning in patterns is a letter like others', () => {
  for (const word of [
    '(',
    '[a',
    'a|b',
    '.*',
    '\\d',
    '$',
    '{2}',
    '^',
    '?',
    '+',
    '/',
    '-',
    '#',
    '&',
    '~',
    'a-b',
    ',',
    '!',
  ]) {
    expect(marked(`x${word}y`, word)).toBe(`x[${word}]y`);
  }
});
