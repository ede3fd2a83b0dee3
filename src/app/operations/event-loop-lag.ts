import { Histogram, type Registry } from 'prom-client';
import type { Clock } from '../../kernel/index.ts';

/** How often the lag is measured. At this rate it costs 2 ms of processor time a second. */
const EVERY_MS = 50;
/** Seconds. The aim is that nothing blocks the loop for more than 0.05. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Observes how late a timer fires: a request that arrived then would have waited as long. Returns
 * the function that stops it.
 */
export function measureLag(registry: Registry, clock: Clock): () => void {
  const lag = new Histogram({
    name: 'taskgate_event_loop_lag_seconds',
    help: 'How late timers of the gateway process fire: how long its event loop was held by one piece of work.',
    buckets: BUCKETS,
    registers: [registry],
  });
  let due = clock.monotonicMs() + EVERY_MS;
  const timer = setInterval(() => {
    const now = clock.monotonicMs();
    lag.observe(Math.max(0, now - due) / 1000);
    due = now + EVERY_MS;
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
