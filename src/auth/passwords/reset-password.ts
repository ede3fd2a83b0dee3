import { type Repositories, ROLE } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { notifyOwner } from '../mail/notify-owner.ts';
import { validateNewPassword } from '../users/validate-account.ts';

export type PasswordReset = {
  username: string;
  password: string;
  /**
   * Also removes everything else that signs in, confirms or receives mail for the account:
   * two-factor, backup codes, passkeys, the personal access token, bound identities, the mail
   * address. An intruder may have added their own.
   */
  resetFactors: boolean;
};

/** `twoFactor`: sign-in still asks for a second factor. */
export type PasswordResetDone = { userId: number; username: string; isRoot: boolean; twoFactor: boolean };

/**
 * Sets a user's password without the old one, for the command line. One transaction sets it,
 * advances `auth_version`, ends every session and removes the factors if `resetFactors` asks for
 * that. Otherwise factors and the personal access token stay, for owners who only forgot their
 * password.
 *
 * @throws `auth.user_not_found`, `auth.validation_failed`, or `auth.changed_meanwhile`.
 */
export async function resetPassword(
  ctx: AuthContext,
  { username, password, resetFactors }: PasswordReset,
): Promise<PasswordResetDone> {
  const { store, logger, passwords, sessions } = ctx;
  const user = await store.users.byLogin(username.trim());
  if (!user) throw authErrors.user_not_found();
  await validateNewPassword(password, user.username);
  const passwordHash = await passwords.hash(password);
  const ending = { userId: user.id, exceptSid: null, reason: 'password_reset' };
  const twoFactor = await sessions.endAll(ending, (end) =>
    store.transaction(async (tx) => {
      if (!(await tx.users.setPassword(user.id, passwordHash, user.authVersion))) throw authErrors.changed_meanwhile();
      if (resetFactors) await removeFactors(tx, user.id);
      await end(tx);
      return (await tx.twoFactor.byUser(user.id))?.enabled ?? false;
    }),
  );
  logger.warn({ userId: user.id, resetFactors }, 'password reset; all sessions ended');
  await notifyOwner(ctx, user, { about: resetFactors ? 'factors_removed' : 'password_changed', by: 'operator' });
  return { userId: user.id, username: user.username, isRoot: user.role === ROLE.root, twoFactor };
}

async function removeFactors(tx: Repositories, userId: number): Promise<void> {
  await tx.twoFactor.delete(userId);
  await tx.passkeys.deleteAll(userId);
  await tx.users.setAccessToken(userId, null);
  await tx.users.update(userId, { email: null });
  await tx.identities.releaseAll(userId);
  await tx.flows.deleteOfUser(userId);
}
