import { AsyncLocalStorage } from 'node:async_hooks';

/** Rows that their room no longer needs. The clean-up calls each step until it deletes nothing. */
export type CleanUpStep = {
  /** Names the rows in the log. */
  step: string;
  /** Deletes about `limit` rows; resolves to how many. */
  deleteBatch(limit: number): Promise<number>;
};

/**
 * Runs work that many requests share, such as a loop that the first of them begins, as part of
 * none: neither in its trace nor with its id in log lines. Taken while no request runs.
 */
export const detachFromRequest: <T>(work: () => T) => T = AsyncLocalStorage.snapshot();

/**
 * Resolves in the next turn of the event loop. Reads of SQLite resolve within the same turn: a loop
 * of them alone would let nothing else run.
 */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets callers share one `wait`: those who call while it lasts go on together. */
export function shareWait(wait: () => Promise<void>): () => Promise<void> {
  let waiting: Promise<void> | undefined;
  return () => {
    waiting ??= wait().finally(() => {
      waiting = undefined;
    });
    return waiting;
  };
}
