import { type Clock, detachFromRequest, isOver, type Logger } from '../../kernel/index.ts';
import type { Store, WalletImbalance } from '../../store/ports/index.ts';

/** At most this many rows are listed. */
export const LISTED = 20;
/** A check reads the whole ledger, so it runs at most this often. */
const CHECK_EVERY_SECONDS = 6 * 3600;
/** After a failed check the next one waits this long. */
const TRY_AGAIN_SECONDS = 300;

export type LedgerCheck = {
  /** Unix seconds. */
  checkedAt: number;
  /** Rows whose balance or quota is not the sum of its ledger lines; at most `LISTED` of each. */
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
  let notBefore = 0;

  async function check(): Promise<void> {
    isChecking = true;
    notBefore = clock.unix() + TRY_AGAIN_SECONDS;
    try {
      const found = await store.ledger.imbalances(LISTED);
      latest = { checkedAt: clock.unix(), ...found };
      notBefore = latest.checkedAt + CHECK_EVERY_SECONDS;
      if (found.wallets.length + found.tasks.length > 0)
        logger.error({ ...found }, 'balances do not match the ledger: run taskgate doctor');
    } catch (error) {
      logger.warn({ err: error }, 'the ledger could not be checked; it is tried again in 5 minutes');
    } finally {
      isChecking = false;
    }
  }

  return (): LedgerCheck | undefined => {
    if (!isChecking && isOver(notBefore, { now: clock.unix(), longest: CHECK_EVERY_SECONDS }))
      void detachFromRequest(check);
    return latest;
  };
}
