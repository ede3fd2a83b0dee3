import type { CleanUpStep, Clock, Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';

/** Waits a moment after the start, so that the first requests come first. */
const FIRST_RUN_MS = 1000;
const HOUR_MS = 3_600_000;
/** Rows a statement: few enough that requests in between do not notice. */
const BATCH = 500;

export interface CleanUp {
  /**
   * Deletes the rows of all steps, unless another node is doing so now. A step that fails is logged
   * and the others run. An aborted `signal` ends the run after the current batch. Rejects only when
   * the database cannot take the lock.
   */
  run(signal?: AbortSignal): Promise<void>;
}

export function createCleanUp(deps: {
  store: Pick<Store, 'exclusively'>;
  logger: Logger;
  /** Runs before the steps. */
  issuanceAlert: () => Promise<void>;
  steps: readonly CleanUpStep[];
}): CleanUp {
  const { store, logger, issuanceAlert, steps } = deps;

  const attempt = async <T>(step: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      logger.error({ err: error, step }, 'a step of the clean-up failed; the next run tries again');
      return undefined;
    }
  };

  async function runSteps(signal: AbortSignal | undefined): Promise<void> {
    await attempt('issuance alert', issuanceAlert);
    const deleted: Record<string, number> = {};
    for (const { step, deleteBatch } of steps) {
      const rows = await attempt(step, () => deleteAll(deleteBatch, signal));
      if (rows) deleted[step] = rows;
    }
    if (Object.keys(deleted).length > 0) logger.info({ deleted }, 'old rows were cleaned up');
  }

  return {
    async run(signal) {
      await store.exclusively('clean-up', () => runSteps(signal));
    },
  };
}

/** Deletes until a batch finds nothing; resolves to the number of rows. */
async function deleteAll(deleteBatch: CleanUpStep['deleteBatch'], signal: AbortSignal | undefined): Promise<number> {
  let total = 0;
  for (let deleted = BATCH; deleted > 0 && !signal?.aborted; total += deleted) deleted = await deleteBatch(BATCH);
  return total;
}

/**
 * Runs the clean-up soon after the start and then hourly, beside everything else. `stop` waits for
 * the current batch.
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
