import type { Clock, Logger } from '../../kernel/index.ts';
import { type Repositories, ROLE, type Store } from '../../store/ports/index.ts';
import { eraseAccount } from '../accounts/erase-account.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import { type AccountView, describeAccount, loadAccount } from './list-accounts.ts';
import { withLockedAccounts } from './with-locked-accounts.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  sessions: SessionRegistry;
};

/** `user` is the row that remains; `username` is the former name. */
export type UserDeleted = { user: AccountView; username: string };

/** Deletes an account with `eraseAccount` and ends its sessions. Throws as `withLockedAccounts`. */
export async function deleteUser(ctx: Deps, principal: PanelPrincipal, userId: number): Promise<UserDeleted> {
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

/** An account by its name or its number: a deleted account has no name. */
export type OperatorsAccount = { username: string } | { id: number };

/** `wasDeleted`: it was deleted before; its content is to be erased again. */
export type UserErased = { userId: number; wasDeleted: boolean };

/**
 * Deletes an account for the command line with `eraseAccount`, and ends its sessions.
 *
 * @throws `auth.user_not_found`, `auth.root_protected`, or `auth.changed_meanwhile`.
 */
export async function deleteByOperator(ctx: Deps, account: OperatorsAccount): Promise<UserErased> {
  const { store, sessions, logger, clock } = ctx;
  const id = 'id' in account ? account.id : (await store.users.byNameOrAddress(account.username.trim()))?.id;
  const user = id === undefined ? undefined : await store.users.adminById(id);
  if (!user) throw authErrors.user_not_found();
  if (user.role === ROLE.root) throw authErrors.root_protected();
  if (user.deletedAt !== 0) {
    await store.personalData.eraseAgain(user.id);
    return { userId: user.id, wasDeleted: true };
  }
  await sessions.endAll({ userId: user.id, exceptSid: null, reason: 'user_deleted' }, (end) =>
    store.transaction(async (tx) => {
      if (!(await eraseAccount(tx, user, clock.unix()))) throw authErrors.changed_meanwhile();
      await end(tx);
    }),
  );
  logger.info({ userId: user.id }, 'account deleted by an operator');
  return { userId: user.id, wasDeleted: false };
}
