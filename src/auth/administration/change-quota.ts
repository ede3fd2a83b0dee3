import { type Clock, newUuid } from '../../kernel/index.ts';
import type { Repositories, UserRecord } from '../../store/ports/index.ts';
import { authErrors, invalidField } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { type AccountView, describeAccount } from './describe-account.ts';
import { loadAccount } from './list-accounts.ts';
import type { WithLockedAccounts } from './with-locked-accounts.ts';

export type QuotaChange = {
  mode: 'add' | 'subtract' | 'override';
  /** Quota; 500,000 = 1 USD. */
  value: number;
  /**
   * A request with a key that was seen before from this operator for this account changes nothing.
   */
  idempotencyKey?: string | undefined;
};

/** `repeated`: this very change was made by an earlier request. */
export type QuotaChanged = { user: AccountView; before: number; after: number; repeated: boolean };

/** A thousand million USD: far within a safe integer, whatever is added up. */
const BALANCE_MAX = 500_000 * 1_000_000_000;

/** A whole number from 0 to the largest balance, or a rejection with `auth.validation_failed`. */
export function requireBalance(value: number, param: string): number {
  if (!Number.isSafeInteger(value) || value < 0 || value > BALANCE_MAX) {
    throw invalidField(param, `a whole number from 0 to ${BALANCE_MAX} is required.`);
  }
  return value;
}

/**
 * Moves an account's balance by a ledger line of its own, below zero too: reservations at the same
 * time come before or after it, and the balance stays the sum of the lines. Rejects with
 * `auth.validation_failed`, `auth.quota_key_reused` for a key of another change, and as
 * `WithLockedAccounts` does.
 */
export function createChangeQuota({ administer, clock }: { administer: WithLockedAccounts; clock: Clock }) {
  return async (principal: PanelPrincipal, userId: number, change: QuotaChange): Promise<QuotaChanged> => {
    const { mode, value } = change;
    requireBalance(value, 'value');
    // The line's unique key; it names the operator, so that one's keys are in nobody else's way.
    const key = `adjust:${principal.user.id}:${userId}:${change.idempotencyKey ?? newUuid()}`;
    const note = `${mode} ${value}`;

    return administer(principal, { userId, action: 'change_quota' }, async (tx, { quota: before }) => {
      const earlier = await tx.ledger.byGrantKey(key);
      if (earlier && earlier.note !== note) throw authErrors.quota_key_reused();
      if (!earlier) await move(tx, { userId, key, note }, before, change);
      const user = describeAccount(await loadAccount(tx, userId));
      return { user, before, after: user.quota, repeated: earlier !== undefined };
    });
  };

  async function move(
    tx: Repositories,
    line: { userId: number; key: string; note: string },
    before: UserRecord['quota'],
    { mode, value }: QuotaChange,
  ): Promise<void> {
    const at = clock.unix();
    if (mode === 'override') {
      await tx.ledger.setBalance({ ...line, to: value, at });
      return;
    }
    const amount = mode === 'add' ? value : -value;
    if (Math.abs(before + amount) > BALANCE_MAX) {
      throw invalidField('value', `the balance may go to ${BALANCE_MAX} at most.`);
    }
    await tx.ledger.grant({ ...line, kind: 'adjust', amount, at });
  }
}
