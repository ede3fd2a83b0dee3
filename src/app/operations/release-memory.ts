import type { Clock } from '../../kernel/index.ts';

export type MemoryReleaseDeps = {
  clock: Clock;
  /** Whether requests or polls came within the last second. */
  isActive: () => boolean;
  /** Gives the pages of the program back that nothing uses. */
  releasePages: () => void;
};

/** After the start and the first clean-up. */
const FIRST_RUN_MS = 5000;
const EVERY_MS = 600_000;
/** While the gateway works. */
const RETRY_MS = 60_000;

/**
 * Gives back what the start has used and what was needed once: pages of the program, some 40 MB,
 * and the heap's garbage. What is used comes back within microseconds. It blocks for some 4 ms, so
 * requests and polls come first.
 */
export function startMemoryRelease({ clock, isActive, releasePages }: MemoryReleaseDeps): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const releasing = (async () => {
    await clock.sleep(FIRST_RUN_MS, stopping.signal);
    while (!stopping.signal.aborted) {
      const isPostponed = isActive();
      if (!isPostponed) {
        Bun.gc(false);
        releasePages();
      }
      await clock.sleep(isPostponed ? RETRY_MS : EVERY_MS, stopping.signal);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await releasing;
    },
  };
}
