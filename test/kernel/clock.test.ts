import { expect, test } from 'bun:test';
import { type Clock, sleepInStep, systemClock } from '../../src/kernel/index.ts';

/** For how long a sleep in step lasts that begins at this time of the monotonic clock. */
async function measureSleep(ms: number, nowMs: number): Promise<number> {
  let slept = -1;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => nowMs,
    async sleep(length) {
      slept = length;
    },
  };
  await sleepInStep(clock, ms);
  return slept;
}

test('loops that sleep in step wake up at the same times, whenever they began', async () => {
  for (const [ms, step] of [
    [1000, 1000],
    [1500, 1000],
    [5000, 5000],
    [10_000, 5000],
    [15_000, 15_000],
    [60_000, 15_000],
  ] as const) {
    for (const now of [0, 1, 499, 500, 999, 12_345.678, 14_999.5]) {
      const slept = await measureSleep(ms, now);
      const off = (now + slept) % step;
      expect(Math.min(off, step - off)).toBeCloseTo(0, 6);
      expect(slept).toBeLessThanOrEqual(ms + 100);
      expect(slept).toBeGreaterThan(ms - step);
    }
  }
});

test('a timer that fires a little too early does not make the next sleep in step shorter', async () => {
  expect(await measureSleep(15_000, 29_999.2)).toBeCloseTo(15_000.8, 6);
});

test('a short sleep is as long as it was asked for', async () => {
  for (const ms of [0, 20, 999]) expect(await measureSleep(ms, 123)).toBe(ms);
});

test('a sleep in step ends when its signal is aborted', async () => {
  const stopping = new AbortController();
  const sleeping = sleepInStep(systemClock, 600_000, stopping.signal);
  stopping.abort();
  await sleeping;
});
