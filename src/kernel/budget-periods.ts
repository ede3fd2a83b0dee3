import { isObject } from './json.ts';
import { MAX_QUOTA } from './quota.ts';
import { createZoneClock, type ZoneClock } from './time-zone.ts';

export const BUDGET_PERIODS = ['day', 'week', 'month', 'total'] as const;

export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** The most quota that may be reserved and charged within each period. */
export type Budget = { amount: number; period: BudgetPeriod };

export const isBudget = (value: unknown): value is Budget =>
  isObject(value) &&
  Object.keys(value).length === 2 &&
  Number.isSafeInteger(value.amount) &&
  Number(value.amount) >= 1 &&
  Number(value.amount) <= MAX_QUOTA &&
  BUDGET_PERIODS.includes(value.period as BudgetPeriod);

/** A budget belongs to a key, a user or a group. A group's holds for each of its users apart. */
export type BudgetOwner =
  | { scope: 'key'; keyId: number }
  | { scope: 'user'; userId: number }
  | { scope: 'group'; userId: number; group: string };

/**
 * The sum that a budget is compared with. `endsAt`: Unix seconds at which the next begins; 0:
 * never.
 */
export type BudgetSum = { id: string; endsAt: number };

const WEEK = 7;
/** The first day since 1970 that was a Monday, on which weeks begin. */
const MONDAY = 4;
const DAY_MS = 86_400_000;

const clocks = new Map<string, ZoneClock>();
const latest = new Map<string, { start: number; end: number }>();

/**
 * The sum of the period that a time (Unix seconds) falls into. Each period has its own, so a clock
 * that steps back comes upon what was spent.
 */
export function findBudgetSum(
  owner: BudgetOwner,
  { period }: Budget,
  { zone, at }: { zone: string; at: number },
): BudgetSum {
  const { start, end } = period === 'total' ? { start: 0, end: 0 } : findPeriod(period, zone, at);
  return { id: [...nameOwner(owner), period, start].join(':'), endsAt: end };
}

const nameOwner = (owner: BudgetOwner): (string | number)[] =>
  owner.scope === 'key'
    ? ['key', owner.keyId]
    : owner.scope === 'user'
      ? ['user', owner.userId]
      : ['group', owner.userId, owner.group];

function findPeriod(period: Exclude<BudgetPeriod, 'total'>, zone: string, at: number): { start: number; end: number } {
  const name = `${zone} ${period}`;
  const known = latest.get(name);
  if (known && known.start <= at && at < known.end) return known;
  const clock = clocks.get(zone) ?? createZoneClock(zone);
  clocks.set(zone, clock);
  const [first, next] = findDays(period, clock.toDay(at));
  const found = { start: clock.dayStart(first), end: clock.dayStart(next) };
  latest.set(name, found);
  return found;
}

/** The first day of the period, and that of the next. */
function findDays(period: Exclude<BudgetPeriod, 'total'>, day: number): [first: number, next: number] {
  if (period === 'day') return [day, day + 1];
  if (period === 'week') {
    const first = day - ((((day - MONDAY) % WEEK) + WEEK) % WEEK);
    return [first, first + WEEK];
  }
  const date = new Date(day * DAY_MS);
  const monthStart = (months: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1) / DAY_MS;
  return [monthStart(0), monthStart(1)];
}
