import type { Clock } from '../../kernel/index.ts';

export type MemoryReleaseDeps = {
  clock: Clock;
  /** Milliseconds since the last request or poll. */
  quietForMs: () => number;
  /**
   * Called once, after the start, which it would slow down. What it returns gives the pages of the
   * program back that nothing uses.
   */
  createPageRelease: () => () => void;
};

/** After the start and the first clean-up. */
const FIRST_RUN_MS = 5000;
/** The runtime collects once more after a collection, and uses pages for that. */
const AFTER_GARBAGE_MS = 4000;
/** If nothing has come for this long, the next request may wait for its pages. */
const QUIET_MS = 15_000;
/**
 * The loops that look for due work touch some 10 MB of pages. Where nothing else has woken them,
 * they have done so at whole multiples of this on the monotonic clock.
 */
const PAGES_EVERY_MS = 15_000;
const AFTER_LOOPS_MS = 200;
/** A collection gives back what requests and polls have left. */
const GARBAGE_EVERY_MS = 600_000;

/**
 * Gives back what the start has used and what was needed once: pages of the program, some 40 MB,
 * and the heap's garbage. A collection blocks for some 4 ms, so requests and polls come first. The
 * pages take 0.1 ms, and those that are used come back within microseconds each.
 */
export function startMemoryRelease({ clock, quietForMs, createPageRelease }: MemoryReleaseDeps) {
  const stopping = new AbortController();
  let collectedAtMs = Number.NEGATIVE_INFINITY;

  async function release(releasePages: () => void): Promise<void> {
    if (clock.monotonicMs() - collectedAtMs >= GARBAGE_EVERY_MS) {
      collectedAtMs = clock.monotonicMs();
      Bun.gc(false);
      releasePages();
      await clock.sleep(AFTER_GARBAGE_MS, stopping.signal);
    }
    releasePages();
  }

  const releasing = (async () => {
    await clock.sleep(FIRST_RUN_MS, stopping.signal);
    const releasePages = createPageRelease();
    // A gateway that has just started and serves nobody.
    let leastQuietMs = 1;
    while (!stopping.signal.aborted) {
      if (quietForMs() >= leastQuietMs) await release(releasePages);
      leastQuietMs = QUIET_MS;
      await clock.sleep(PAGES_EVERY_MS - (clock.monotonicMs() % PAGES_EVERY_MS) + AFTER_LOOPS_MS, stopping.signal);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await releasing;
    },
  };
}
