import { expect, test } from 'bun:test';
import { memoizeTexts } from '../../src/kernel/index.ts';

function openCounted() {
  const reads: string[] = [];
  const read = memoizeTexts((text) => {
    reads.push(text);
    return text === 'none' ? undefined : text.toUpperCase();
  });
  return { read, reads };
}

test('reads each text once, one without a result too', () => {
  const { read, reads } = openCounted();
  expect(['a', 'none', 'a', 'none'].map(read)).toEqual(['A', undefined, 'A', undefined]);
  expect(reads).toEqual(['a', 'none']);
});

test('a flood of texts is forgotten, and a long text is never kept', () => {
  const { read, reads } = openCounted();
  const long = 'x'.repeat(1000);
  read(long);
  read(long);
  expect(reads).toHaveLength(2);
  read('a');
  for (let i = 0; i < 5000; i += 1) read(`flood ${i}`);
  reads.length = 0;
  expect(read('a')).toBe('A');
  expect(reads).toEqual(['a']);
});
