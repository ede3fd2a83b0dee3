import { expect, test } from 'bun:test';
import { Registry } from 'prom-client';
import { createDeferredHistogram } from '../../src/telemetry/metrics/deferred-histogram.ts';

test.each([1, 499, 500, 1203])('a reader of a deferred histogram sees each of %d observations once', async (count) => {
  const registry = new Registry();
  const labelNames = ['phase'] as const;
  const configuration = { name: 'durations', help: 'Durations.', labelNames, buckets: [1, 2], registers: [registry] };
  const histogram = createDeferredHistogram(configuration);
  for (let number = 0; number < count; number += 1) histogram.observe({ phase: 'send' }, 1.5);
  const expected = [
    'durations_bucket{le="1",phase="send"} 0',
    `durations_bucket{le="2",phase="send"} ${count}`,
    `durations_count{phase="send"} ${count}`,
  ];
  for (let reads = 0; reads < 2; reads += 1) {
    const lines = (await registry.metrics()).split('\n');
    expect(lines).toEqual(expect.arrayContaining(expected));
  }
});
