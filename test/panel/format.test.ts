import { expect, test } from 'bun:test';
import { datesOf, readPeriod } from '../../src/panel/pages/usage/usage-period.ts';
import { createFormat } from '../../src/panel/ui/display/use-format.ts';

test('a column of money has one number of decimals: two, or up to four for small amounts', () => {
  const { moneyLike, percentInColumn } = createFormat('en');
  const column = (...dollars: number[]) =>
    dollars.map((each) => moneyLike(dollars.map((d) => d * 500_000))(each * 500_000));
  expect(column(1, 12.5, 0)).toEqual(['$1.00', '$12.50', '$0.00']);
  expect(column(0.096, 0.1, 0)).toEqual(['$0.096', '$0.100', '$0.000']);
  expect(column(0.000_02, 5)).toEqual(['$0.0000', '$5.0000']);
  expect(column(-0.02, 3)).toEqual(['-$0.02', '$3.00']);
  expect(column(0.0123, 3)).toEqual(['$0.012', '$3.000']);
  expect(column()).toEqual([]);
  expect([0.5, 1 / 3, 0].map(percentInColumn)).toEqual(['50.0%', '33.3%', '0.0%']);
});

test('periods end today, apart from that of the last month; two dates are a period of their own', () => {
  const now = new Date(2026, 2, 1, 0, 30);
  expect(datesOf('today', now)).toEqual({ from: '2026-03-01', to: '2026-03-01' });
  expect(datesOf('7d', now)).toEqual({ from: '2026-02-23', to: '2026-03-01' });
  expect(datesOf('month', now)).toEqual({ from: '2026-03-01', to: '2026-03-01' });
  expect(datesOf('lastMonth', now)).toEqual({ from: '2026-02-01', to: '2026-02-28' });
  expect(readPeriod({ period: '30d', from: '', to: '' })).toBe('30d');
  expect(readPeriod({ period: 'constructor', from: '', to: '' })).toBe('7d');
  expect(readPeriod({ period: '30d', from: '2026-01-01', to: '' })).toBe('custom');
});
