import { expect, test } from 'bun:test';
import { watchClock } from '../../src/kernel/index.ts';

const HOUR = 3_600_000;

function createClock(startMs = 1_000_000_000_000) {
  let [wall, monotonic] = [startMs, 5_000];
  return {
    nowMs: () => wall,
    monotonicMs: () => monotonic,
    pass(ms: number) {
      wall += ms;
      monotonic += ms;
    },
    set(byMs: number) {
      wall += byMs;
    },
  };
}

test('a clock that is set is noticed once, and one that is corrected a little is not', () => {
  const clock = createClock();
  const steps: number[] = [];
  const watch = watchClock(clock, (byMs) => steps.push(byMs));
  for (const byMs of [0, 400, -400, 31_000, 0, -8 * HOUR, 4_000]) {
    clock.pass(15_000);
    clock.set(byMs);
    watch.check();
    watch.check();
  }
  expect(steps).toEqual([31_000, -8 * HOUR]);
});

test('a clock that a correction slows down for days is not one that was set', () => {
  const clock = createClock();
  const steps: number[] = [];
  const watch = watchClock(clock, (byMs) => steps.push(byMs));
  for (let i = 0; i < 10_000; i += 1) {
    clock.pass(15_000);
    clock.set(-7);
    watch.check();
  }
  expect(steps).toEqual([]);
});

test('an age is what has passed, whichever way the clock was set since', () => {
  const year = 365 * 24 * HOUR;
  for (const byMs of [31_000, 8 * HOUR, -8 * HOUR, year, -year]) {
    const clock = createClock();
    const watch = watchClock(clock);
    clock.pass(HOUR);
    const before = clock.nowMs();
    clock.pass(HOUR);
    watch.check();
    clock.set(byMs);
    const after = clock.nowMs();
    watch.check();
    clock.pass(HOUR);
    expect(watch.timeAgo(2 * HOUR)).toBe(before);
    expect(watch.timeAgo(HOUR)).toBe(after);
    expect(watch.timeAgo(0)).toBe(clock.nowMs());
    // Before this watch began, as if the clock had never been set.
    expect(watch.timeAgo(4 * HOUR)).toBe(before - 2 * HOUR);
  }
});
