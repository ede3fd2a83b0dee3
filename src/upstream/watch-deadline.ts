import type { Clock } from '../kernel/index.ts';

/** A time limit that can be moved back while work goes on, at the cost of a number and not of a new timer. */
export interface Deadline {
  /** The time starts anew. */
  extend(): void;
  /** Time stands still until the next `extend`: the other side waits for us. */
  suspend(): void;
  stop(): void;
}

// Longer delays overflow the timer's 32 bits and would fire at once.
const LONGEST_SLEEP_MS = 2 ** 31 - 1;

/** Calls `onExpiry` once when `ms` pass without `extend`. `Infinity` never expires. */
export function watchDeadline(clock: Clock, ms: number, onExpiry: () => void): Deadline {
  const stopped = new AbortController();
  let due = clock.monotonicMs() + ms;
  let suspended = false;

  const watch = async () => {
    while (!stopped.signal.aborted) {
      const left = due - clock.monotonicMs();
      if (left > 0) await clock.sleep(Math.min(left, LONGEST_SLEEP_MS), stopped.signal);
      else if (suspended) await clock.sleep(Math.min(ms, LONGEST_SLEEP_MS), stopped.signal);
      else {
        stopped.abort();
        onExpiry();
      }
    }
  };
  if (Number.isFinite(ms)) void watch();

  return {
    extend() {
      suspended = false;
      due = clock.monotonicMs() + ms;
    },
    suspend() {
      suspended = true;
    },
    stop() {
      stopped.abort();
    },
  };
}
