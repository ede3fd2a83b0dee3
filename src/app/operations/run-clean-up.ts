import type { CleanUp } from '../../auth/index.ts';
import type { Clock, Logger } from '../../kernel/index.ts';

/** The first requests come first. */
const FIRST_RUN_MS = 1000;
const HOUR_MS = 3_600_000;

/**
 * Runs the clean-up soon after the start and then hourly, beside everything else. `stop` waits for
 * the batch under way.
 */
export function startCleanUp(deps: { cleanUp: CleanUp; clock: Clock; logger: Logger }): { stop(): Promise<void> } {
  const { cleanUp, clock, logger } = deps;
  const stopping = new AbortController();
  const cleaning = (async () => {
    await clock.sleep(FIRST_RUN_MS, stopping.signal);
    while (!stopping.signal.aborted) {
      await cleanUp
        .run(stopping.signal)
        .catch((error) => logger.warn({ err: error }, 'the clean-up could not begin; the next run tries again'));
      await clock.sleep(HOUR_MS, stopping.signal);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await cleaning;
    },
  };
}
