import { newUuid } from '../../kernel/index.ts';
import type { Repositories } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors, invalidField } from '../errors.ts';
import { authSentences } from '../sentences.ts';
import type { PanelPrincipal } from '../types.ts';
import { type AccountView, describeAccount } from './describe-account.ts';
import { loadAccount } from './list-accounts.ts';
import { withLockedAccounts } from './with-locked-accounts.ts';

export type QuotaChange = {
  mode: 'add' | 'subtract' | 'override';
  /** Quota; 500,000 = 1 USD. */
  value: number;
  /** A repeated request with this key, from this operator for this account, changes nothing. */
  idempotencyKey?: string | undefined;
};

/** `repeated`: an earlier request already made this change. */
export type QuotaChanged = { user: AccountView; before: number; after: number; repeated: boolean };

/** One billion USD; sums stay far below the largest safe integer. */
const BALANCE_MAX = 500_000 * 1_000_000_000;

/** @throws `auth.validation_failed` for anything but a whole number from 0 to `BALANCE_MAX`. */
export function requireBalance(value: number, param: string): number {
  if (!Number.isSafeInteger(value) || value < 0 || value > BALANCE_MAX) {
    throw invalidField(param, authSentences.integer_range({ max: BALANCE_MAX }));
  }
  return value;
}

/**
 * Changes an account's balance by its own ledger line; the balance may become negative. Concurrent
 * reservations run before or after it, and the balance stays the sum of the lines.
 *
 * @throws `auth.validation_failed`, `auth.quota_key_reused` for a key of another change, and what
 * `withLockedAccounts` throws.
 */
export async function changeQuota(
  ctx: AuthContext,
  principal: PanelPrincipal,
  { userId, change }: { userId: number; change: QuotaChange },
): Promise<QuotaChanged> {
  const { mode, value } = change;
  requireBalance(value, 'value');
  // The ledger line's unique key. It contains the operator's id, so that the keys of two operators
  // never collide.
  const key = `adjust:${principal.user.id}:${userId}:${change.idempotencyKey ?? newUuid()}`;
  const note = `${mode} ${value}`;

  return withLockedAccounts(ctx, { principal, userId, action: 'change_quota' }, async ({ tx, target }) => {
    const before = target.quota;
    const earlier = await tx.ledger.byGrantKey(key);
    if (earlier && earlier.note !== note) throw authErrors.quota_key_reused();
    const line = { userId, key, note, at: ctx.clock.unix() };
    if (!earlier) await writeLine(tx, line, { ...change, before });
    const user = describeAccount(await loadAccount(tx, userId));
    return { user, before, after: user.quota, repeated: earlier !== undefined };
  });
}

async function writeLine(
  tx: Repositories,
  line: { userId: number; key: string; note: string; at: number },
  { mode, value, before }: Pick<QuotaChange, 'mode' | 'value'> & { before: number },
): Promise<void> {
  if (mode === 'override') {
    await tx.ledger.setBalance({ ...line, to: value });
    return;
  }
  const amount = mode === 'add' ? value : -value;
  if (Math.abs(before + amount) > BALANCE_MAX) {
    throw invalidField('value', authSentences.balance_max({ max: BALANCE_MAX }));
  }
  await tx.ledger.grant({ ...line, kind: 'adjust', amount });
}
