import { expect, test } from 'bun:test';
import { startMemoryRelease } from '../../src/app/operations/release-memory.ts';
import { type Clock, systemClock } from '../../src/kernel/index.ts';
import { until } from '../support/until.ts';

/** A clock whose sleeps end when the test says so. */
function openClock() {
  const sleeps: { ms: number; end: () => void }[] = [];
  const clock: Clock = {
    ...systemClock,
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

test('memory is given back after the start and every ten minutes, but not while requests or polls come', async () => {
  let isActive = false;
  let releases = 0;
  const { clock, next } = openClock();
  const releasing = startMemoryRelease({ clock, isActive: () => isActive, releasePages: () => (releases += 1) });
  expect([await next(), releases]).toEqual([600_000, 1]);
  isActive = true;
  expect([await next(), releases]).toEqual([60_000, 1]);
  expect([await next(), releases]).toEqual([60_000, 1]);
  isActive = false;
  expect([await next(), releases]).toEqual([600_000, 2]);
  await releasing.stop();
  expect(releases).toBe(2);
});
