import type { Clock } from '../kernel/index.ts';

/** A deadline that can be extended while work continues. */
export interface Deadline {
  /** Restarts the full time. */
  extend(): void;
  /** Stops the time until the next `extend`: the other side waits for us. */
  suspend(): void;
  stop(): void;
}

export interface Deadlines {
  /**
   * Calls `onExpiry` once when `ms` pass without `extend`; up to `LOOKS` times `SWEEP_MS` late.
   * `Infinity` never expires.
   */
  watch(ms: number, onExpiry: () => void): Deadline;
}

const SWEEP_MS = 10;

/** How many consecutive sweeps must find a deadline passed. */
const LOOKS = 5;

/**
 * One loop watches the deadlines of all requests and runs only while there are any. Three timers
 * and abort signals for each of thousands of requests a second would cost more than the requests
 * themselves.
 *
 * A passed deadline expires only after several sweeps: if this process was blocked, data that
 * arrived in that time is read between them. No request fails because of our own pause.
 */
export function createDeadlines(clock: Clock): Deadlines {
  const watched = new Set<{ due: number; late: number; onExpiry: () => void }>();
  let sweeping = false;

  async function sweep() {
    sweeping = true;
    while (watched.size > 0) {
      await clock.sleep(SWEEP_MS);
      const now = clock.monotonicMs();
      for (const entry of watched) {
        entry.late = entry.due <= now ? entry.late + 1 : 0;
        if (entry.late < LOOKS) continue;
        watched.delete(entry);
        entry.onExpiry();
      }
    }
    sweeping = false;
  }

  return {
    watch(ms, onExpiry) {
      const entry = { due: clock.monotonicMs() + ms, late: 0, onExpiry };
      watched.add(entry);
      if (!sweeping) void sweep();
      return {
        extend() {
          entry.due = clock.monotonicMs() + ms;
          entry.late = 0;
        },
        suspend() {
          entry.due = Number.POSITIVE_INFINITY;
        },
        stop() {
          watched.delete(entry);
        },
      };
    },
  };
}
