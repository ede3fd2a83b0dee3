import { Histogram, type Registry } from 'prom-client';
import { type Clock, inStep } from '../../kernel/index.ts';

/** How often the lag is measured while the gateway works: 2 ms of processor time a second. */
const BUSY_MS = 50;
/** How often it is measured while nothing happens: with the loops that look for due work. */
const IDLE_MS = 15_000;
/** How long after the last request or poll nothing happens. */
const QUIET_AFTER_MS = 1000;
/** Seconds. The aim is that nothing blocks the loop for more than 0.05. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type LagMeasurement = {
  /** Call it when a request or a poll begins: for a second the timer fires often. */
  active(): void;
  /** Whether a request or a poll began within the last second. */
  isActive(): boolean;
  /** Milliseconds since the last activity, give or take a second. */
  quietForMs(): number;
  /** The longest lag since the last call, in milliseconds. */
  takeMaxMs(): number;
  stop(): void;
};

/**
 * Observes how late a timer fires: a request that arrived then would have waited as long. Where all
 * other metrics are, `app/telemetry/register-metrics.ts` lists.
 */
export function measureLag(registry: Registry, clock: Clock, idleMs = IDLE_MS): LagMeasurement {
  const lag = new Histogram({
    name: 'taskgate_event_loop_lag_seconds',
    help: 'How late timers of the gateway process fire: how long its event loop was held by one piece of work.',
    buckets: BUCKETS,
    registers: [registry],
  });
  let everyMs = idleMs;
  let due = 0;
  /** Ticks since the last request or poll. */
  let quietTicks = 0;
  let quietSinceMs = clock.monotonicMs();
  let timer: ReturnType<typeof setTimeout> | undefined;

  let maxMs = 0;

  const latenessMs = (): number => Math.max(0, clock.monotonicMs() - due);

  function observe(ms: number): void {
    lag.observe(ms / 1000);
    maxMs = Math.max(maxMs, ms);
  }

  function tick(): void {
    observe(latenessMs());
    quietTicks += 1;
    const isQuiet = quietTicks > QUIET_AFTER_MS / BUSY_MS;
    if (isQuiet && everyMs === BUSY_MS) quietSinceMs = clock.monotonicMs();
    run(isQuiet ? idleMs : everyMs);
  }

  function run(ms: number): void {
    clearTimeout(timer);
    everyMs = ms;
    const dueInMs = inStep(clock, ms);
    due = clock.monotonicMs() + dueInMs;
    timer = setTimeout(tick, dueInMs);
    timer.unref();
  }

  run(idleMs);
  return {
    active() {
      quietTicks = 0;
      if (everyMs === BUSY_MS) return;
      // A timer that is overdue now would never fire.
      const late = latenessMs();
      if (late > 0) observe(late);
      run(BUSY_MS);
    },
    isActive: () => everyMs === BUSY_MS,
    quietForMs: () => (everyMs === BUSY_MS ? 0 : clock.monotonicMs() - quietSinceMs),
    takeMaxMs() {
      const longest = maxMs;
      maxMs = 0;
      return longest;
    },
    stop: () => clearTimeout(timer),
  };
}
