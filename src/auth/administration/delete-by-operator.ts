import { ROLE } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { eraseAccount } from '../users/erase-account.ts';

/** By the name, or by the number: a deleted account has no name. */
export type OperatorsAccount = { username: string } | { id: number };

/** `wasDeleted`: it was deleted before; its content is to be erased again. */
export type UserErased = { userId: number; wasDeleted: boolean };

/**
 * Deletes an account for the command line with `eraseAccount`, and ends its sessions.
 *
 * @throws `auth.user_not_found`, `auth.root_protected`, or `auth.changed_meanwhile`.
 */
export async function deleteByOperator(ctx: AuthContext, account: OperatorsAccount): Promise<UserErased> {
  const { store, sessions, logger, clock } = ctx;
  const id = 'id' in account ? account.id : (await store.users.byLogin(account.username.trim()))?.id;
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
