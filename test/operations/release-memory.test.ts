import { expect, test } from 'bun:test';
import { type Clock, systemClock } from '../../src/kernel/index.ts';
import { startMemoryRelease } from '../../src/operations/watches/release-memory.ts';
import { until } from '../support/until.ts';

/** A clock whose sleeps end when the test says so. */
function openClock() {
  const sleeps: { ms: number; end: () => void }[] = [];
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => 0,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        sleeps.push({ ms, end: resolve });
        signal?.addEventListener('abort', () => resolve(), { once: true });
      }),
  };
  /** Ends the current sleep, and returns how long the next one is, in ms. */
  const next = async (): Promise<number> => {
    const before = sleeps.length;
    sleeps.at(-1)?.end();
    await until(() => sleeps.length > before);
    return sleeps.at(-1)?.ms ?? 0;
  };
  return { clock, next };
}

test('pages are given back after the start and after each look for due work, but not while requests or polls come', async () => {
  let quietForMs = 5000;
  let releases = 0;
  const { clock, next } = openClock();
  const releasing = startMemoryRelease({
    clock,
    quietForMs: () => quietForMs,
    createPageRelease: () => () => (releases += 1),
  });
  expect([await next(), releases]).toEqual([4000, 1]);
  expect([await next(), releases]).toEqual([15_200, 2]);
  quietForMs = 14_000;
  expect([await next(), releases]).toEqual([15_200, 2]);
  quietForMs = 15_000;
  expect([await next(), releases]).toEqual([15_200, 3]);
  await releasing.stop();
  expect(releases).toBe(3);
});
