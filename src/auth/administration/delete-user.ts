import type { Repositories } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { eraseAccount } from '../users/erase-account.ts';
import { type AccountView, describeAccount } from './describe-account.ts';
import { loadAccount } from './list-accounts.ts';
import { withLockedAccounts } from './with-locked-accounts.ts';

/** `user` is the row that remains; `username` is the former name. */
export type UserDeleted = { user: AccountView; username: string };

/** Deletes an account with `eraseAccount` and ends its sessions. Throws as `withLockedAccounts`. */
export async function deleteUser(ctx: AuthContext, principal: PanelPrincipal, userId: number): Promise<UserDeleted> {
  // Keys before users: the lock order of `eraseAccount`. A refused deletion rolls this back.
  const first = (tx: Repositories) => tx.apiKeys.deleteAll(userId);
  const intent = { principal, userId, action: 'delete', endsSessions: 'user_deleted', first } as const;
  const deleted = await withLockedAccounts(ctx, intent, async ({ tx, target, endSessions }) => {
    if (!(await eraseAccount(tx, target, ctx.clock.unix()))) throw authErrors.changed_meanwhile();
    await endSessions();
    return { user: describeAccount(await loadAccount(tx, userId)), username: target.username };
  });
  ctx.logger.info({ userId, by: principal.user.id }, 'account deleted');
  return deleted;
}
