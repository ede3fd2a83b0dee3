import { expect, test } from 'bun:test';
import { checkCostPrices, vendorCost } from '../../src/billing/index.ts';
import type { BillingSnapshot, TaskStatus } from '../../src/store/ports/index.ts';

const billing: BillingSnapshot = {
  ...{ expression: 'u("seconds") * 0.02', priceKey: null, groupRatio: 1, usd: 0.1, model: 'films', action: '' },
  facts: { seconds: 5 },
  completionFacts: { seconds: 8 },
};
const task = (status: TaskStatus, upstreamModelName = 'vendor-films') => ({
  ...{ billing, status, quota: 80_000 },
  properties: { originModelName: 'films', upstreamModelName },
});

test('what a task cost at its vendor is computed from the facts of its bill, and leaves a margin', () => {
  const settings = { cost_prices: { 'vendor-films': 'u("seconds") * 0.015', '*': '0.5' } };
  expect(vendorCost(task('SUCCESS'), settings)).toEqual({ cost: 0.12, margin: 0.04 });
  expect(vendorCost(task('SUCCESS', 'another'), settings)).toEqual({ cost: 0.5, margin: -0.34 });
  expect(vendorCost(task('SUCCESS', 'another'), { cost_prices: { films: '0.1' } })).toEqual({
    cost: 0.1,
    margin: 0.06,
  });
  expect(vendorCost(task('FAILURE'), settings)).toEqual({ cost: 0, margin: 0 });
});

test('nothing is said of a task that runs, of a channel without cost prices, or of a fact that is missing', () => {
  expect(vendorCost(task('IN_PROGRESS'), { cost_prices: { '*': '1' } })).toBeUndefined();
  expect(vendorCost(task('SUCCESS'), {})).toBeUndefined();
  expect(vendorCost(task('SUCCESS'), { cost_prices: { other: '1' } })).toBeUndefined();
  expect(vendorCost(task('SUCCESS'), { cost_prices: { '*': 'u("frames")' } })).toBeUndefined();
});

test('cost prices that are none are refused with the channel', () => {
  expect(() => checkCostPrices({ cost_prices: { '*': 'process.exit()' } })).toThrow();
  expect(() => checkCostPrices({ cost_prices: ['1'] })).toThrow('settings.cost_prices must be an object');
  expect(() => checkCostPrices({ cost_prices: { '*': 'u("seconds") * 0.1' } })).not.toThrow();
  expect(() => checkCostPrices({})).not.toThrow();
});
