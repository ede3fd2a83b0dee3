import type { Clock, Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';

/** At most this many rows are named; the count of the rest says nothing more. */
export const LISTED = 20;
/** A check reads every line there is: not more often than this, however many ask. */
const CHECK_EVERY_SECONDS = 6 * 3600;
/** After one that failed, a database that cannot do it is left alone for so long. */
const TRY_AGAIN_SECONDS = 300;

export type LedgerCheck = {
  /** Unix seconds. */
  checkedAt: number;
  /** Those whose balance or quota is not the sum of its lines, at most `LISTED` of each. */
  users: { userId: number; quota: number; ledger: number }[];
  tasks: { taskId: string; quota: number; ledger: number }[];
};

/**
 * The latest check of this node, undefined before the first. Whoever asks begins a new one where
 * the latest is six hours old; nobody waits for it.
 */
export function createLedgerCheck({ store, clock, logger }: { store: Store; clock: Clock; logger: Logger }) {
  let latest: LedgerCheck | undefined;
  let isChecking = false;
  let notBefore = 0;

  async function check(): Promise<void> {
    isChecking = true;
    notBefore = clock.unix() + TRY_AGAIN_SECONDS;
    try {
      const found = await store.ledger.imbalances(LISTED);
      latest = { checkedAt: clock.unix(), ...found };
      notBefore = latest.checkedAt + CHECK_EVERY_SECONDS;
      if (found.users.length + found.tasks.length > 0)
        logger.error({ ...found }, 'balances do not agree with the ledger: run taskgate doctor');
    } catch (error) {
      logger.warn({ err: error }, 'the ledger could not be checked');
    } finally {
      isChecking = false;
    }
  }

  return (): LedgerCheck | undefined => {
    if (!isChecking && clock.unix() >= notBefore) void check();
    return latest;
  };
}
