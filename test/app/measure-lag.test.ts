import { test } from 'bun:test';
import { Registry } from 'prom-client';
import { measureLag } from '../../src/app/operations/event-loop-lag.ts';
import { systemClock } from '../../src/kernel/index.ts';
import { until } from '../support/until.ts';

test('work that blocks the event loop shows in taskgate_event_loop_lag_seconds', async () => {
  const registry = new Registry();
  const stop = measureLag(registry, systemClock);
  try {
    const longer = async (seconds: number) => {
      const [metric] = await registry.getMetricsAsJSON();
      const values = (metric?.values ?? []) as {
        metricName: string;
        labels: { le?: number | string };
        value: number;
      }[];
      const all = values.find(({ metricName }) => metricName.endsWith('_count'))?.value ?? 0;
      return all - (values.find(({ labels }) => labels.le === seconds)?.value ?? 0);
    };
    await until(async () => (await longer(0)) > 0);
    const begun = performance.now();
    while (performance.now() - begun < 400);
    await until(async () => (await longer(0.25)) > 0);
  } finally {
    stop();
  }
});
