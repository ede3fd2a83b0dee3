/** The timer behind "within minutes": soon after the start, then every ten minutes. */
import { expect, test } from 'bun:test';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { startRetention } from '../../src/operations/retention/run-retention.ts';
import { until } from '../support/until.ts';

test('what is due is looked for after five seconds and then every ten minutes, also after a failure', async () => {
  let runs = 0;
  const sleeps: { ms: number; end: () => void }[] = [];
  const clock = {
    ...systemClock,
    // Loops wake up together at whole steps of it: its place in a step decides how long one sleeps.
    monotonicMs: () => 0,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        sleeps.push({ ms, end: resolve });
        signal?.addEventListener('abort', () => resolve());
      }),
  };
  const retention = {
    async run() {
      runs += 1;
      if (runs === 1) throw new Error('the database is unavailable');
    },
  };
  const running = startRetention({ retention, clock, logger: silentLogger });
  const next = () => until('it sleeps', () => sleeps.shift());
  for (const [longest, before] of [
    [5_000, 0],
    [600_000, 1],
    [600_000, 2],
  ] as const) {
    const sleep = await next();
    expect(runs).toBe(before);
    expect(sleep.ms).toBeLessThanOrEqual(longest);
    sleep.end();
  }
  await next();
  expect(runs).toBe(3);
  await running.stop();
});
