/** Shares of a whole, as tables show them. */
import { expect, test } from 'bun:test';
import { roundShares } from '../../src/panel/ui/display/figures.tsx';

test.each<[number[], number, number[]]>([
  [[456, 184], 640, [0.713, 0.287]],
  [[1, 1, 1], 3, [0.334, 0.333, 0.333]],
  [[10, 5], 30, [0.333, 0.167]],
  [[0, 0], 0, [0, 0]],
])('shares of %j in %d are rounded so that they add up', (parts, of, shares) => {
  expect(roundShares(parts, of)).toEqual(shares);
});
