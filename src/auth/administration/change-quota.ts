import { type Clock, MAX_QUOTA, newUuid, sentence, sha256Hex } from '../../kernel/index.ts';
import type { LedgerReason, Repositories, Store, UserRecord } from '../../store/ports/index.ts';
import { validateLine } from '../accounts/validate-account.ts';
import { authErrors, invalidField } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import { type AccountView, describeAccount, loadAccount } from './list-accounts.ts';
import { withLockedAccounts } from './with-locked-accounts.ts';

export type QuotaChange = {
  mode: 'add' | 'subtract' | 'override';
  /** Quota; 500,000 = 1 USD. */
  value: number;
  /** Why, for the customer's statement. */
  reason?: LedgerReason | undefined;
  /** What the customer reads beside the reason. */
  note?: string | undefined;
  /** The customer's task that the change is about. */
  taskId?: string | undefined;
  /** A repeated request with this key, from this operator for this account, changes nothing. */
  idempotencyKey?: string | undefined;
};

/** `repeated`: an earlier request already made this change. */
export type QuotaChanged = { user: AccountView; before: number; after: number; repeated: boolean };

const NOTE_MAX = 255;

/** @throws `auth.validation_failed` for anything but a whole number from 0 to `MAX_QUOTA`. */
export function requireBalance(value: number, param: string): number {
  if (!Number.isSafeInteger(value) || value < 0 || value > MAX_QUOTA) {
    throw invalidField(param, sentence('auth.integer_range', { max: MAX_QUOTA }));
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
  ctx: { store: Store; clock: Clock; sessions: SessionRegistry },
  principal: PanelPrincipal,
  { userId, change }: { userId: number; change: QuotaChange },
): Promise<QuotaChanged> {
  const { mode, value } = change;
  requireBalance(value, 'value');
  // The ledger line's unique key. It contains the operator's id, so that the keys of two operators
  // never collide.
  const key = `adjust:${principal.user.id}:${userId}:${change.idempotencyKey ?? newUuid()}`;
  const { reason = '', taskId = '' } = change;
  const note = validateLine('note', change.note ?? '', { min: 0, max: NOTE_MAX });
  // A digest: the note may name people, and is erased with their account.
  const request = sha256Hex(JSON.stringify([mode, value, reason, taskId, note]));
  const isSame = (line: { request: string; note: string }): boolean =>
    // Older lines have the change itself as their note.
    line.request === '' ? line.note === `${mode} ${value}` : line.request === request;

  return withLockedAccounts(ctx, { principal, userId, action: 'change_quota' }, async ({ tx, target }) => {
    const before = (await tx.ledger.lockBalance(target.walletId)) ?? target.quota;
    const earlier = await tx.ledger.byGrantKey(key);
    if (earlier && !isSame(earlier)) throw authErrors.quota_key_reused();
    if (!earlier) {
      if (taskId !== '') await requireTask(tx, target, taskId);
      const line = { walletId: target.walletId, key, note, reason, request, at: ctx.clock.unix() };
      const about = { actorId: principal.user.id, aboutTaskId: taskId === '' ? null : taskId };
      await writeLine(tx, { ...line, ...about }, { ...change, before });
    }
    const user = describeAccount(await loadAccount(tx, userId));
    return { user, before, after: user.quota, repeated: earlier !== undefined };
  });
}

/** A deleted task has left its ledger lines. */
async function requireTask(tx: Repositories, { id, walletId }: UserRecord, taskId: string): Promise<void> {
  if ((await tx.tasks.byTaskId(taskId))?.userId === id) return;
  if ((await tx.ledger.byTask(taskId)).some((line) => line.walletId === walletId)) return;
  throw invalidField('task_id', sentence('auth.task_of_account'));
}

async function writeLine(
  tx: Repositories,
  line: Omit<Parameters<Repositories['ledger']['setBalance']>[0], 'to'>,
  { mode, value, before }: Pick<QuotaChange, 'mode' | 'value'> & { before: number },
): Promise<void> {
  if (mode === 'override') {
    await tx.ledger.setBalance({ ...line, to: value });
    return;
  }
  const amount = mode === 'add' ? value : -value;
  if (Math.abs(before + amount) > MAX_QUOTA) {
    throw invalidField('value', sentence('auth.balance_max', { max: MAX_QUOTA }));
  }
  await tx.ledger.grant({ ...line, kind: 'adjust', amount });
}
