/** How often a clock of `startLivedTime` moves. */
const STEP_MS = 10;

/**
 * Starts a clock that moves only while this process gets its turns: what a claim that nobody waits
 * is measured with, so that a machine which holds the process still does not count as waiting.
 * Never ahead of the time that has passed.
 */
export function startLivedTime(): { stop(): number } {
  let steps = 0;
  const timer = setInterval(() => {
    steps += 1;
  }, STEP_MS);
  return {
    /** The milliseconds. */
    stop() {
      clearInterval(timer);
      return steps * STEP_MS;
    },
  };
}
