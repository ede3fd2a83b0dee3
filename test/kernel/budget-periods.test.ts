import { describe, expect, test } from 'bun:test';
import { type BudgetPeriod, findBudgetSum } from '../../src/kernel/index.ts';

const at = (text: string): number => Date.parse(text) / 1000;
const find = (period: BudgetPeriod, zone: string, text: string) => {
  const { id, endsAt } = findBudgetSum({ scope: 'key', keyId: 7 }, { amount: 1, period }, { zone, at: at(text) });
  const begins = Number(id.split(':').at(-1));
  return [begins, endsAt].map((time) => (time === 0 ? 0 : new Date(time * 1000).toISOString().slice(0, 16)));
};

describe('the period of a budget', () => {
  test.each([
    ['day', 'UTC', '2026-11-28T23:59:59Z', ['2026-11-28T00:00', '2026-11-29T00:00']],
    ['day', 'Asia/Tokyo', '2026-11-28T15:00:00Z', ['2026-11-28T15:00', '2026-11-29T15:00']],
    // 25 and 23 hours: clocks change.
    ['day', 'Europe/Berlin', '2026-10-25T12:00:00Z', ['2026-10-24T22:00', '2026-10-25T23:00']],
    ['day', 'Europe/Berlin', '2026-03-29T12:00:00Z', ['2026-03-28T23:00', '2026-03-29T22:00']],
    // Midnight does not exist.
    ['day', 'America/Santiago', '2026-09-06T12:00:00Z', ['2026-09-06T04:00', '2026-09-07T03:00']],
    ['week', 'UTC', '2026-11-29T12:00:00Z', ['2026-11-23T00:00', '2026-11-30T00:00']],
    ['week', 'UTC', '2026-11-30T00:00:00Z', ['2026-11-30T00:00', '2026-12-07T00:00']],
    ['month', 'Europe/Berlin', '2026-10-31T23:30:00Z', ['2026-10-31T23:00', '2026-11-30T23:00']],
    ['month', 'UTC', '2024-02-29T12:00:00Z', ['2024-02-01T00:00', '2024-03-01T00:00']],
    ['total', 'UTC', '2026-11-28T12:00:00Z', [0, 0]],
  ] as const)('a %s in %s at %s', (period, zone, text, expected) => {
    expect(find(period, zone, text)).toEqual([...expected]);
  });

  test('after a clock steps back the earlier sum counts again, since nothing has reset it', () => {
    const times = ['2026-11-30T23:59:00Z', '2026-12-01T00:01:00Z', '2026-11-30T23:58:00Z'];
    const [before, after, again] = times.map((text) => find('month', 'UTC', text));
    expect(after).not.toEqual(before);
    expect(again).toEqual(before);
  });
});
