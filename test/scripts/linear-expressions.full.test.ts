import { expect, test } from 'bun:test';
import { checkRegularExpressions } from '../../scripts/check-regular-expressions.ts';
import { root } from '../../scripts/hash-inputs.ts';

test('every regular expression takes linear time, without believing a former verdict', () => {
  expect(checkRegularExpressions(root)).toEqual([]);
});
