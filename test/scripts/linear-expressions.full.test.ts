import { expect, setDefaultTimeout, test } from 'bun:test';
import { checkRegularExpressions } from '../../scripts/check-regular-expressions.ts';
import { root } from '../../scripts/hash-inputs.ts';

// Two minutes on a quick machine, a multiple of that beside other tests.
setDefaultTimeout(1_800_000);

test('every regular expression takes linear time, without believing a former verdict', () => {
  expect(checkRegularExpressions(root)).toEqual([]);
});
