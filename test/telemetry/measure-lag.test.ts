import { expect, test } from 'bun:test';
import { Registry } from 'prom-client';
import { systemClock } from '../../src/kernel/index.ts';
import { measureLag } from '../../src/telemetry/metrics/event-loop-lag.ts';
import { call, openKit } from '../http/kit-harness.ts';
import { until } from '../support/until.ts';

type Sample = { metricName: string; labels: { le?: number | string }; value: number };

/** In place of fifteen seconds. */
const IDLE_MS = 1000;

async function openLag() {
  const registry = new Registry();
  const lag = measureLag(registry, systemClock, IDLE_MS);
  const samples = async (): Promise<Sample[]> => {
    const [metric] = await registry.getMetricsAsJSON();
    return (metric?.values ?? []) as Sample[];
  };
  const count = async () => (await samples()).find(({ metricName }) => metricName.endsWith('_count'))?.value ?? 0;
  const longer = async (seconds: number) =>
    (await count()) - ((await samples()).find(({ labels }) => labels.le === seconds)?.value ?? 0);
  return { lag, count, longer };
}

test('work that blocks the event loop shows in taskgate_event_loop_lag_seconds', async () => {
  const { lag, count, longer } = await openLag();
  try {
    lag.active();
    await until(async () => (await count()) > 0);
    block(400);
    await until(async () => (await longer(0.25)) > 0);
  } finally {
    lag.stop();
  }
});

const block = (ms: number) => {
  const begun = performance.now();
  while (performance.now() - begun < ms);
};

test('what blocked the event loop until the first request or poll after a quiet second shows', async () => {
  const { lag, longer } = await openLag();
  try {
    // Past the timer of the quiet second, which has no chance to fire before the request.
    block(1400);
    lag.active();
    expect(await longer(0.25)).toBe(1);
    // For the samples of the system page: the longest since the last one.
    expect(lag.takeMaxMs()).toBeGreaterThan(250);
    expect(lag.takeMaxMs()).toBe(0);
  } finally {
    lag.stop();
  }
});

test('what the first request after a quiet second blocks the event loop for shows', async () => {
  const { lag, longer } = await openLag();
  const app = openKit({ onRequest: lag.active, limits: { api: async () => block(400) } });
  try {
    expect((await call(app, { path: '/api/open' })).status).toBe(200);
    await until(async () => (await longer(0.25)) > 0);
  } finally {
    lag.stop();
  }
});

test('the lag is measured often while the gateway works, and rarely when nothing happens', async () => {
  const { lag, count } = await openLag();
  try {
    await until(async () => (await count()) === 1);
    expect(lag.isActive()).toBe(false);
    expect(lag.quietForMs()).toBeGreaterThan(0);
    lag.active();
    expect([lag.isActive(), lag.quietForMs()]).toEqual([true, 0]);
    const busyFrom = performance.now();
    await until(async () => (await count()) >= 6);
    expect(performance.now() - busyFrom).toBeLessThan(5000 - 1);
    // After its second of frequent samples they are as rare as before.
    const counts = new Set<number>();
    const pauses: number[] = [];
    let last = performance.now();
    await until(async () => {
      const seen = await count();
      if (!counts.has(seen)) {
        counts.add(seen);
        pauses.push(performance.now() - last);
        last = performance.now();
      }
      return pauses.some((ms) => ms > 700);
    });
    expect(lag.isActive()).toBe(false);
  } finally {
    lag.stop();
  }
});
