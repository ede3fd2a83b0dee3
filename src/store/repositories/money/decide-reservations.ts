import type { Budget } from '../../../kernel/index.ts';
import type { HeldAmounts, NewReservation, ReservationVerdict } from '../../ports/index.ts';
import { type CountedBudget, findExceeded } from './enforce-budgets.ts';

export type KeyRow = { userId: number; walletId: number; isUnlimited: boolean; left: number; budget: Budget | null };

/** `within`: the sums that it may count in, of the periods at `at` (Unix seconds). Absent: now. */
export type Reservation = NewReservation & { within?: { ids: readonly string[]; at: number } };

/** The rows that decide on reservations, locked until the transaction ends. */
export type Balances = {
  keys: ReadonlyMap<number, KeyRow>;
  /** The balance of each wallet. */
  wallets: ReadonlyMap<number, number>;
  /** Users who may pay: enabled, and not deleted. */
  payers: ReadonlySet<number>;
  /** The budgets that each reservation counts in. */
  budgets: ReadonlyMap<Reservation, readonly CountedBudget[]>;
  /** The quota that was spent of the budgets, by the ids of their sums. */
  spent: ReadonlyMap<string, number>;
};

const NOTHING_HELD: HeldAmounts = { wallet: 0, key: 0, user: 0, group: 0 };

/**
 * Decides one reservation after the other over what the earlier ones leave: one that does not fit
 * takes nothing, and does not stop the ones behind it.
 */
export function decideReservations(
  { keys, wallets, payers, budgets, spent }: Balances,
  entries: readonly Reservation[],
): ReservationVerdict[] {
  const spentByKey = new Map<number, number>();
  const spentByWallet = new Map<number, number>();
  const spentBySum = new Map(spent);
  const decide = (entry: Reservation): ReservationVerdict => {
    const { apiKeyId, userId, walletId, amount, asksForMoney = false, held = NOTHING_HELD, isOwed = false } = entry;
    if (isOwed) return 'ok';
    const own = budgets.get(entry) ?? [];
    const needed = Math.max(amount, asksForMoney ? 1 : 0);
    if (needed === 0) return findExceeded(own, { spent: spentBySum, held }, 0) ?? 'ok';
    const key = apiKeyId === null ? undefined : keys.get(apiKeyId);
    const ofKey = apiKeyId === null ? 0 : (spentByKey.get(apiKeyId) ?? 0);
    const ofWallet = spentByWallet.get(walletId) ?? 0;
    if (apiKeyId !== null) {
      const isOwn = key?.userId === userId && key.walletId === walletId;
      if (!isOwn || !(key.isUnlimited || key.left - ofKey - held.key >= needed)) return 'key_insufficient';
    }
    const left = wallets.get(walletId);
    if (left === undefined || !payers.has(userId) || left - ofWallet - held.wallet < needed)
      return 'wallet_insufficient';
    const exceeded = findExceeded(own, { spent: spentBySum, held }, amount);
    if (exceeded) return exceeded;
    for (const { id } of own) spentBySum.set(id, (spentBySum.get(id) ?? 0) + amount);
    if (apiKeyId !== null) spentByKey.set(apiKeyId, ofKey + amount);
    spentByWallet.set(walletId, ofWallet + amount);
    return 'ok';
  };
  return entries.map(decide);
}
