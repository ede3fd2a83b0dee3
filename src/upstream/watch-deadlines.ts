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
  /**
   * Calls `onExpiry` once when `ms` pass without `extend`; late by up to `LOOKS` times `SWEEP_MS`.
   * `Infinity` never expires.
   */
  watch(ms: number, onExpiry: () => void): Deadline;
}

const SWEEP_MS = 10;

/** How many looks in a row must find a limit passed. */
const LOOKS = 5;

/**
 * One loop looks after the time limits of all requests, and sleeps only while there are any: three
 * limits for each of thousands of requests a second would otherwise cost more in timers and abort
 * signals than the requests themselves.
 *
 * A limit that has passed expires some looks later only: when this process was held up, what
 * arrived in that time still waits to be read, and is read between them. Nobody is given up for a
 * pause that was ours.
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
