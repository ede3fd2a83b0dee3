import type { Clock, Logger } from '../../kernel/index.ts';
import type { Repositories } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { eraseAccount } from '../users/erase-account.ts';
import { type AccountView, describeAccount } from './describe-account.ts';
import { loadAccount } from './list-accounts.ts';
import type { WithLockedAccounts } from './with-locked-accounts.ts';

/** What is left, and the name that it had. */
export type UserDeleted = { user: AccountView; username: string };

/**
 * Deletes an account as `eraseAccount` says and ends its sessions. Rejects as `WithLockedAccounts`
 * does.
 */
export function createDeleteUser(deps: { administer: WithLockedAccounts; clock: Clock; logger: Logger }) {
  const { administer, clock, logger } = deps;
  return async (principal: PanelPrincipal, userId: number): Promise<UserDeleted> => {
    const intent = { userId, action: 'delete', endsSessions: 'user_deleted' } as const;
    // The keys first, as `eraseAccount` says; if he may not, all of it is undone.
    const first = (tx: Repositories) => tx.apiKeys.deleteAll(userId);
    const done = await administer(principal, { ...intent, first }, async (tx, target, endSessions) => {
      if (!(await eraseAccount(tx, target, clock.unix()))) throw authErrors.changed_meanwhile();
      await endSessions();
      return { user: describeAccount(await loadAccount(tx, userId)), username: target.username };
    });
    logger.info({ userId, by: principal.user.id }, 'account deleted');
    return done;
  };
}
