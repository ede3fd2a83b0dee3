import { expect, test } from 'bun:test';
import { pluralize } from '../../src/kernel/index.ts';

test('one is singular; none and several are plural', () => {
  expect([0, 1, 2].map((count) => pluralize(count, 'file'))).toEqual(['0 files', '1 file', '2 files']);
  expect([1, 2].map((count) => pluralize(count, 'file is', 'files are'))).toEqual(['1 file is', '2 files are']);
});
