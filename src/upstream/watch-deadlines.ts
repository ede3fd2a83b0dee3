import type { Clock } from '../kernel/index.ts';

/** A time limit that can be moved back while work goes on. */
export interface Deadline {
  /** The time starts anew. */
  extend(): void;
  /** Time stands still until the next `extend`: the other side waits for us. */
  suspend(): void;
  stop(): void;
}

export interface Deadlines {
  /** Calls `onExpiry` once when `ms` pass without `extend`; up to `SWEEP_MS` late. `Infinity` never expires. */
  watch(ms: number, onExpiry: () => void): Deadline;
}

const SWEEP_MS = 10;

/**
 * One loop looks after the time limits of all requests, and sleeps only while there are any: three limits for each of thousands
 * of requests a second would otherwise cost more in timers and abort signals than the requests themselves.
 */
export function createDeadlines(clock: Clock): Deadlines {
  const watched = new Set<{ due: number; onExpiry: () => void }>();
  let sweeping = false;

  async function sweep() {
    sweeping = true;
    while (watched.size > 0) {
      await clock.sleep(SWEEP_MS);
      const now = clock.monotonicMs();
      for (const entry of watched) {
        if (entry.due > now) continue;
        watched.delete(entry);
        entry.onExpiry();
      }
    }
    sweeping = false;
  }

  return {
    watch(ms, onExpiry) {
      const entry = { due: clock.monotonicMs() + ms, onExpiry };
      watched.add(entry);
      if (!sweeping) void sweep();
      return {
        extend() {
          entry.due = clock.monotonicMs() + ms;
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
