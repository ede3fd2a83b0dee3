import { Gauge, type Registry } from 'prom-client';
import type { Clock, ReportCacheSize } from '../../kernel/index.ts';
import { VERSION } from '../version.ts';

/**
 * The start and the version of this process. Its memory and processor time: `createMetrics` in
 * `http/operator/metrics.ts`; its event loop: `telemetry/metrics/event-loop-lag.ts`.
 */
export function measureProcess(registry: Registry, clock: Clock): void {
  const startedAt = clock.unix();
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the gateway process was started, in Unix seconds.',
    registers: [registry],
  }).set(startedAt);
  new Gauge({
    name: 'taskgate_build_info',
    help: 'Always 1, with the version of the gateway as a label.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: VERSION }, 1);
}

/**
 * Adds the sizes of caches in memory to `/metrics`; returns the function that registers a cache.
 */
export function measureCaches(registry: Registry): ReportCacheSize {
  const caches = new Map<string, () => number>();
  new Gauge({
    name: 'taskgate_cache_entries',
    help: 'Entries of each cache and table of counters in the memory of this node; each has an upper limit.',
    labelNames: ['cache'],
    registers: [registry],
    collect() {
      for (const [cache, size] of caches) this.set({ cache }, size());
    },
  });
  return (cache, size) => void caches.set(cache, size);
}
