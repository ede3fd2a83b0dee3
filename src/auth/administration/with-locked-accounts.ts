import type { Repositories, Store, UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import type { SessionGate } from '../sessions/session-gate.ts';
import type { PanelPrincipal } from '../types.ts';
import { type AdminAction, requireRank } from './rank-rules.ts';

type Intent = {
  userId: number;
  action: AdminAction;
  /** The `revoked_reason` of the user's sessions, where the work may end them. */
  endsSessions?: string;
  /**
   * What is to be done before the accounts are held: rows that others take hold of before those of
   * users.
   */
  first?: (tx: Repositories) => Promise<unknown>;
};

/**
 * Does something to another's account in one transaction that holds both accounts as they are: who
 * may do it is judged again in there, so that nothing gets through of somebody who was demoted or
 * disabled meanwhile, or against somebody who was promoted. `endSessions` ends all sessions of the
 * account with the transaction.
 *
 * Rejects with `auth.user_not_found`, as `requireRank` does, with `auth.changed_meanwhile` when the
 * operator is not who he was when he asked, and as `work` does; then nothing has happened.
 */
export type WithLockedAccounts = <T>(
  principal: PanelPrincipal,
  intent: Intent,
  work: (tx: Repositories, target: UserRecord, endSessions: () => Promise<unknown>) => Promise<T>,
) => Promise<T>;

export function createWithLockedAccounts({
  store,
  sessions,
}: {
  store: Store;
  sessions: SessionGate;
}): WithLockedAccounts {
  return async (principal, { userId, action, endsSessions, first }, work) => {
    // What is refused anyway does not wait for a lock, and no cache hears of it.
    const seen = await store.users.byId(userId);
    if (!seen) throw authErrors.user_not_found();
    requireRank(principal.user, seen, action);

    const run = (end: (tx: Repositories) => Promise<unknown>) =>
      store.transaction(async (tx) => {
        await first?.(tx);
        const held = await tx.users.hold([principal.user.id, userId]);
        const operator = requireUnchanged(principal, held);
        const target = held.find(({ id }) => id === userId);
        if (!target) throw authErrors.user_not_found();
        requireRank(operator, target, action);
        return work(tx, target, () => end(tx));
      });
    if (endsSessions === undefined) return run(async () => {});
    return sessions.endAll({ userId, exceptSid: null, reason: endsSessions }, run);
  };
}

/** The operator among the held users, if he still is who he was when he asked. */
export function requireUnchanged({ user }: PanelPrincipal, held: readonly UserRecord[]): UserRecord {
  const operator = held.find(({ id }) => id === user.id);
  if (operator?.status !== USER_ENABLED || operator.authVersion !== user.authVersion) {
    throw authErrors.changed_meanwhile();
  }
  return operator;
}
