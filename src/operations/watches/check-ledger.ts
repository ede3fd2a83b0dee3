import { type Clock, detachFromRequest, type Logger } from '../../kernel/index.ts';
import type { Store, WalletImbalance } from '../../store/ports/index.ts';

/** At most this many rows are listed. */
export const MAX_LISTED = 20;
/** A check reads the whole ledger, so it runs at most this often. */
const CHECK_EVERY_MS = 6 * 3_600_000;
/** After a failed check the next one waits this long. */
const TRY_AGAIN_MS = 300_000;

export type LedgerCheck = {
  /** Unix seconds. */
  checkedAt: number;
  /**
   * Rows whose balance or quota is not the sum of its ledger lines; at most `MAX_LISTED` of each.
   */
  wallets: WalletImbalance[];
  tasks: { taskId: string; quota: number; ledger: number }[];
};

/**
 * Returns this node's latest check, undefined before the first. A call starts a new one in the
 * background if the latest is six hours old.
 */
export function createLedgerCheck({ store, clock, logger }: { store: Store; clock: Clock; logger: Logger }) {
  let latest: LedgerCheck | undefined;
  let isChecking = false;
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  async function check(): Promise<void> {
    isChecking = true;
    notBeforeMs = clock.monotonicMs() + TRY_AGAIN_MS;
    try {
      const found = await store.ledger.imbalances(MAX_LISTED);
      latest = { checkedAt: clock.unix(), ...found };
      notBeforeMs = clock.monotonicMs() + CHECK_EVERY_MS;
      if (found.wallets.length + found.tasks.length > 0)
        logger.error({ ...found }, 'balances do not match the ledger: run taskgate doctor');
    } catch (error) {
      logger.warn({ err: error }, 'the ledger could not be checked; it is tried again in 5 minutes');
    } finally {
      isChecking = false;
    }
  }

  return (): LedgerCheck | undefined => {
    if (!isChecking && clock.monotonicMs() >= notBeforeMs) void detachFromRequest(check);
    return latest;
  };
}
