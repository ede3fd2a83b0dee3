import { AsyncLocalStorage } from 'node:async_hooks';
import { storeErrors } from './errors.ts';

/**
 * One running transaction. `failure`: what its first failed statement threw. `pendingStatements`:
 * how many statements wait for their answer. `onCommit`: callbacks to run after the commit.
 */
export type Scope = { open: boolean; failure: unknown; pendingStatements?: number; onCommit?: (() => void)[] };

/**
 * A transaction that does not end holds locks and, on SQLite, blocks every other writer. After this
 * many milliseconds it is rolled back.
 */
const MAX_TRANSACTION_MS = 10_000;

/**
 * Keeps statements in the transaction that they belong to, the same way in both dialects. Inside a
 * transaction the store itself is refused (on SQLite it would wait for itself). Outside its own
 * transaction `tx` is refused (it would write into another one).
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
      scope.pendingStatements = (scope.pendingStatements ?? 0) + 1;
      try {
        return await run();
      } catch (error) {
        scope.failure ??= error;
        throw error;
      } finally {
        scope.pendingStatements -= 1;
      }
    },

    /**
     * Runs `work`; resolves with its value if it may be committed. Work that continued after a
     * failed statement fails too: PostgreSQL would silently turn its commit into a rollback.
     */
    async run<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const tooLong = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          // A slow database or locked rows are its fault: `unavailable`. Work that waits for
          // something else breaks the contract: `misused`.
          const slow = (scope.pendingStatements ?? 0) > 0;
          const message = `A transaction did not end within ${maxMs} ms.`;
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
