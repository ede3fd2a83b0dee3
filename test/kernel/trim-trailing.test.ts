import { expect, test } from 'bun:test';
import { trimTrailing } from '../../src/kernel/index.ts';

test.each([
  ['https://a.example/b//', 'https://a.example/b'],
  ['//', ''],
  ['', ''],
  ['a/b', 'a/b'],
])('the trailing slashes of %p go, no others', (text, trimmed) => expect(trimTrailing(text, '/')).toBe(trimmed));
