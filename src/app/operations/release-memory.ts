import type { Clock } from '../../kernel/index.ts';
import { releaseUnusedPages } from '../../sandbox/child/release-unused-pages.ts';

/** After the start and the first clean-up. */
const FIRST_RUN_MS = 5000;
const EVERY_MS = 600_000;

/**
 * Gives back what the start has used and what was needed once: pages of the program, some 40 MB,
 * and the heap's garbage. What is used comes back within microseconds.
 */
export function startMemoryRelease(clock: Clock): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const releasing = (async () => {
    await clock.sleep(FIRST_RUN_MS, stopping.signal);
    while (!stopping.signal.aborted) {
      Bun.gc(false);
      releaseUnusedPages();
      await clock.sleep(EVERY_MS, stopping.signal);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await releasing;
    },
  };
}
