import { AsyncLocalStorage } from 'node:async_hooks';
import { storeErrors } from '../errors.ts';

/**
 * One running transaction. `failure` is what the first statement threw that the database refused,
 * `asking` how many statements wait for their answer, `onCommit` what is to be done when it is
 * committed.
 */
export type Scope = { open: boolean; failure: unknown; asking?: number; onCommit?: (() => void)[] };

/**
 * A transaction that does not end holds locks, and on SQLite every other writer; after this many
 * milliseconds it is given up.
 */
const MAX_TRANSACTION_MS = 10_000;

/**
 * Keeps statements in the transaction that they belong to, in both dialects alike: the store itself
 * is refused inside a transaction (on SQLite it would wait for itself), and `tx` is refused outside
 * its own (it would write into a stranger's).
 */
export function createTransactionGuard(maxMs = MAX_TRANSACTION_MS) {
  const current = new AsyncLocalStorage<Scope>();
  return {
    requireOutside(): void {
      if (current.getStore()?.open) {
        throw storeErrors.misused({ message: 'The store was used inside a transaction: only its `tx` may be.' });
      }
    },

    /** Runs one statement of the transaction `scope`. */
    async statement(scope: Scope | undefined, run: () => unknown[][] | Promise<unknown[][]>): Promise<unknown[][]> {
      if (!scope?.open || current.getStore() !== scope) {
        throw storeErrors.misused({ message: 'A transaction was used outside of its own work, or after its end.' });
      }
      scope.asking = (scope.asking ?? 0) + 1;
      try {
        return await run();
      } catch (error) {
        scope.failure ??= error;
        throw error;
      } finally {
        scope.asking -= 1;
      }
    },

    /**
     * Runs `work`; resolves with its value when it may be committed. A work that went on after a
     * refused statement fails too: PostgreSQL would turn its commit into a rollback without a word.
     */
    async run<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const tooLong = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          // A database that is slow, or rows that another holds, are trouble; a work that waits for
          // something else is a fault.
          const slow = (scope.asking ?? 0) > 0;
          const message = `A transaction was not over after ${maxMs} ms.`;
          reject(slow ? storeErrors.unavailable({ retryAfterSeconds: 5 }) : storeErrors.misused({ message }));
        }, maxMs);
      });
      try {
        const value = await Promise.race([current.run(scope, work), tooLong]);
        if (scope.failure !== undefined)
          throw storeErrors.misused({ message: 'A transaction went on after a statement had failed.' });
        return value;
      } finally {
        clearTimeout(timer);
        scope.open = false;
      }
    },
  };
}
