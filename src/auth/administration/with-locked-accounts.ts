import { type Repositories, STATUS, type Store, type UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import { type AdminAction, requireRank } from './rank-rules.ts';

export type AdminIntent = {
  /** The operator. */
  principal: PanelPrincipal;
  /** The account to change. */
  userId: number;
  action: AdminAction;
  /** The `revoked_reason` of the user's sessions, if the work may end them. */
  endsSessions?: string;
  /** Runs before the accounts are locked, for rows that other code locks before users. */
  first?: (tx: Repositories) => Promise<unknown>;
};

export type LockedAccount = {
  tx: Repositories;
  target: UserRecord;
  /** Ends all sessions of the account with the transaction. */
  endSessions: () => Promise<unknown>;
};

/**
 * Runs `work` on another account in one transaction that locks the rows of operator and target. The
 * rank rules are checked again under the lock, so that an operator who was demoted or disabled in
 * the meantime changes nothing, nor does anybody change a user who was promoted.
 *
 * @throws `auth.user_not_found`; what `requireRank` throws; `auth.changed_meanwhile` when the
 * operator's account changed since the request was authenticated; what `work` throws. Nothing is
 * changed then.
 */
export async function withLockedAccounts<T>(
  { store, sessions }: { store: Store; sessions: SessionRegistry },
  { principal, userId, action, endsSessions, first }: AdminIntent,
  work: (account: LockedAccount) => Promise<T>,
): Promise<T> {
  // A request that is refused anyway waits for no lock and marks no sessions in the cache.
  const present = await store.users.byId(userId);
  if (!present) throw authErrors.user_not_found();
  requireRank(principal.user, present, action);

  const run = (end: (tx: Repositories) => Promise<unknown>) =>
    store.transaction(async (tx) => {
      await first?.(tx);
      const locked = await tx.users.lock([principal.user.id, userId]);
      const operator = requireUnchanged(principal, locked);
      const target = locked.find(({ id }) => id === userId);
      if (!target) throw authErrors.user_not_found();
      requireRank(operator, target, action);
      return work({ tx, target, endSessions: () => end(tx) });
    });
  if (endsSessions === undefined) return run(async () => {});
  return sessions.endAll({ userId, exceptSid: null, reason: endsSessions }, run);
}

/**
 * The operator among the locked users.
 *
 * @throws `auth.changed_meanwhile` when that account changed since the request was authenticated.
 */
export function requireUnchanged({ user }: PanelPrincipal, locked: readonly UserRecord[]): UserRecord {
  const operator = locked.find(({ id }) => id === user.id);
  if (operator?.status !== STATUS.enabled || operator.authVersion !== user.authVersion) {
    throw authErrors.changed_meanwhile();
  }
  return operator;
}
