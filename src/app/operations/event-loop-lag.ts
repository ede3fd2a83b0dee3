import { Histogram, type Registry } from 'prom-client';
import type { Clock } from '../../kernel/index.ts';

/** How often the lag is measured while the gateway works: 2 ms of processor time a second. */
const BUSY_MS = 50;
/** How often it is measured while nothing happens. */
const IDLE_MS = 1000;
/** Seconds. The aim is that nothing blocks the loop for more than 0.05. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Observes how late a timer fires: a request that arrived then would have waited as long. `active`
 * is called for each request and each poll; for a second after it the timer fires often.
 */
export function measureLag(registry: Registry, clock: Clock): { active(): void; stop(): void } {
  const lag = new Histogram({
    name: 'taskgate_event_loop_lag_seconds',
    help: 'How late timers of the gateway process fire: how long its event loop was held by one piece of work.',
    buckets: BUCKETS,
    registers: [registry],
  });
  let everyMs = IDLE_MS;
  let due = 0;
  /** Ticks since the last request or poll. */
  let quietTicks = 0;
  let timer: ReturnType<typeof setInterval> | undefined;

  function tick(): void {
    const now = clock.monotonicMs();
    lag.observe(Math.max(0, now - due) / 1000);
    due = now + everyMs;
    quietTicks += 1;
    if (everyMs === BUSY_MS && quietTicks > IDLE_MS / BUSY_MS) run(IDLE_MS);
  }

  function run(ms: number): void {
    clearInterval(timer);
    everyMs = ms;
    due = clock.monotonicMs() + ms;
    timer = setInterval(tick, ms);
    timer.unref();
  }

  run(IDLE_MS);
  return {
    active() {
      quietTicks = 0;
      if (everyMs === IDLE_MS) run(BUSY_MS);
    },
    stop: () => clearInterval(timer),
  };
}
