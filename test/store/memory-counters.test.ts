import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { addressKey } from '../../src/auth/limits/limit-requests.ts';
import type { DecidingIp } from '../../src/auth/principals.ts';
import { type Clock, systemClock } from '../../src/kernel/index.ts';
import { createMemoryCounters, MAX_COUNTERS } from '../../src/store/drivers/memory-counters.ts';
import { testInFullRun } from '../support/full-run.ts';

const MADE_UP = 20_000;
const MIB = 1024 * 1024;

/** The nth address of a flood. */
const FLOODS: Record<string, (n: number) => string> = {
  IPv4: (n) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
  'IPv6, each in a /64 of its own': (n) => `2001:db8:${(n >> 8).toString(16)}:${(n & 255).toString(16)}::1`,
  'IPv6 within one /64': (n) => `2001:db9:1:2:${n.toString(16)}::1`,
};

const bytes = (): number => {
  Bun.gc(true);
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
};

describe('20,000 made-up addresses', () => {
  test.each(Object.entries(FLOODS))('%s: take less than 5 MB', async (_name, addressFor) => {
    const counters = createMemoryCounters();
    await counters.add('warm', 1, 60);
    const before = bytes();
    for (let n = 0; n < MADE_UP; n += 1)
      await counters.add(`guess-ip:${addressKey(addressFor(n) as DecidingIp)}`, 1, 3600);
    expect(bytes() - before).toBeLessThan(5 * MIB);
    expect(counters.size()).toBeLessThanOrEqual(MADE_UP + 1);
  });

  test('count as one within a /64, and push nobody out', async () => {
    const counters = createMemoryCounters();
    await counters.add('mine', 5, 3600);
    for (const addressFor of Object.values(FLOODS)) {
      for (let n = 0; n < MADE_UP; n += 1) await counters.add(addressKey(addressFor(n) as DecidingIp), 1, 3600);
    }
    expect(counters.size()).toBe(2 * MADE_UP + 2);
    expect((await counters.peek('mine'))?.count).toBe(5);
    expect((await counters.peek('2001:db9:1:2::/64'))?.count).toBe(MADE_UP);
  });
});

testInFullRun(
  'as many made-up addresses as there may be counters take less than 24 MB, and more of them no more',
  async () => {
    const counters = createMemoryCounters();
    const before = bytes();
    for (let n = 0; n < MAX_COUNTERS + MADE_UP; n += 1) await counters.add(`10.${n}`, 1, 3600);
    expect(counters.size()).toBe(MAX_COUNTERS);
    expect(bytes() - before).toBeLessThan(24 * MIB);
  },
);

test('beyond the limit the counter goes that was added to longest ago', async () => {
  const counters = createMemoryCounters(systemClock, 3);
  for (const key of ['a', 'b', 'c', 'a', 'd']) await counters.add(key, 1, 60);
  expect(counters.size()).toBe(3);
  expect(await counters.peek('b')).toBeUndefined();
  expect((await counters.peek('a'))?.count).toBe(2);
  expect(MAX_COUNTERS).toBe(100_000);
});

test('counts as a plain map would that forgets the oldest', async () => {
  const step = fc.record({ key: fc.nat(30), amount: fc.integer({ min: -2, max: 5 }), pass: fc.nat(40) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200 }), async (steps) => {
      let now = 0;
      const clock: Clock = { ...systemClock, monotonicMs: () => now };
      const counters = createMemoryCounters(clock, 8);
      const model = new Map<number, { count: number; ends: number }>();
      for (const { key, amount, pass } of steps) {
        now += pass * 100;
        const known = model.get(key);
        const entry = known && known.ends > now ? known : { count: 0, ends: now + 10_000 };
        model.delete(key);
        model.set(key, { ...entry, count: Math.max(0, entry.count + amount) });
        const [oldest] = model.keys();
        if (model.size > 8 && oldest !== undefined) model.delete(oldest);
        expect((await counters.add(String(key), amount, 10)).count).toBe(model.get(key)?.count ?? -1);
        expect(counters.size()).toBe(model.size);
      }
      for (const [key, { count, ends }] of model) {
        expect((await counters.peek(String(key)))?.count).toBe(ends > now ? count : undefined);
      }
    }),
    { numRuns: 60 },
  );
});
