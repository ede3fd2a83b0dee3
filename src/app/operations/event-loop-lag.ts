import { Histogram, type Registry } from 'prom-client';
import type { Clock } from '../../kernel/index.ts';

/** How often the lag is measured while the gateway works: 2 ms of processor time a second. */
const BUSY_MS = 50;
/** How often it is measured while nothing happens. */
const IDLE_MS = 1000;
/** Seconds. The aim is that nothing blocks the loop for more than 0.05. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type LagMeasurement = {
  /** Call it when a request or a poll begins: for a second the timer fires often. */
  active(): void;
  /** Whether a request or a poll began within the last second. */
  isActive(): boolean;
  stop(): void;
};

/** Observes how late a timer fires: a request that arrived then would have waited as long. */
export function measureLag(registry: Registry, clock: Clock): LagMeasurement {
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

  const latenessMs = (): number => Math.max(0, clock.monotonicMs() - due);

  function tick(): void {
    lag.observe(latenessMs() / 1000);
    due = clock.monotonicMs() + everyMs;
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
      if (everyMs === BUSY_MS) return;
      // A timer that is overdue now would never fire.
      const late = latenessMs();
      if (late > 0) lag.observe(late / 1000);
      run(BUSY_MS);
    },
    isActive: () => everyMs === BUSY_MS,
    stop: () => clearInterval(timer),
  };
}
