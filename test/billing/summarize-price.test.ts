import { expect, test } from 'bun:test';
import { scaleSummary, summarizePrice } from '../../src/billing/index.ts';

const amount = (usd: number, ...per: string[]) => ({ kind: 'amount' as const, usd, per });

test.each([
  ['0.05', amount(0.05)],
  ['(0.1 + 0.2)', amount(0.3)],
  ['0.02 * u("seconds")', amount(0.02, 'seconds')],
  ['u("seconds") * 0.1 * 3', amount(0.3, 'seconds')],
  ['0.6 * u("tokens") / 1000000', amount(6e-7, 'tokens')],
  ['u("images") * u("megapixels") * 0.01', amount(0.01, 'images', 'megapixels')],
  [
    '(u("resolution") == "720p" ? 0.1 : "1080p" === u("resolution") ? 0.2 : 0.4) * u("seconds")',
    {
      kind: 'table',
      by: 'resolution',
      rates: [
        { value: '720p', usd: 0.1 },
        { value: '1080p', usd: 0.2 },
        { value: null, usd: 0.4 },
      ],
      per: ['seconds'],
    },
  ],
  [
    'u("sound") ? u("seconds") * 0.2 : u("seconds") * 0.1',
    {
      kind: 'table',
      by: 'sound',
      rates: [
        { value: 'true', usd: 0.2 },
        { value: null, usd: 0.1 },
      ],
      per: ['seconds'],
    },
  ],
])('%s is said in words', (expression, summary) => {
  expect(summarizePrice(expression)).toEqual(summary as never);
});

test.each([
  'max(u("seconds"), 5) * 0.1',
  'u("seconds") * u("seconds")',
  'u("seconds") + 0.1',
  'u("seconds") > 5 ? 1 : 2',
  'u("resolution") == "720p" ? 0.1 : u("mode") == "pro" ? 0.2 : 0.3',
  'u("resolution") == "720p" ? 0.1 : 0.2 * u("seconds")',
  'model == "a" ? 1 : 2',
  '1 / 0',
  'not a price',
])('%s is not', (expression) => {
  expect(summarizePrice(expression)).toBeNull();
});

test('a group that pays half sees half', () => {
  expect(scaleSummary(amount(0.3, 'seconds'), 0.5)).toEqual(amount(0.15, 'seconds'));
});
