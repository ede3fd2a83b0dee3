import type { Logger } from '../../kernel/index.ts';
import { type Repositories, ROLE, type Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { SessionGate } from '../sessions/session-gate.ts';
import { validateNewPassword } from '../users/validate-account.ts';
import type { PasswordHashes } from './password-hashes.ts';

export type PasswordReset = {
  username: string;
  password: string;
  /**
   * Also takes away everything else that signs in, confirms or gets mail for the account:
   * two-factor, backup codes, passkeys, the personal access token, bound identities, the mail
   * address. Whoever broke in may have left his own.
   */
  resetFactors: boolean;
};

/** `twoFactor`: a second factor is still asked for at sign-in. */
export type PasswordResetDone = { userId: number; username: string; isRoot: boolean; twoFactor: boolean };

/**
 * Sets a user's password without the old one (the command line's way out): `auth_version` moves and
 * every session ends, all in one transaction with the reset of factors. Without that, factors and
 * the personal access token stay: whoever only forgot the password keeps what works. Rejects with
 * `auth.user_not_found`, `auth.validation_failed`, or `auth.changed_meanwhile`.
 */
export function createResetPassword(deps: {
  store: Store;
  logger: Logger;
  passwords: PasswordHashes;
  sessions: SessionGate;
  notifyOwner: NotifyOwner;
}): (reset: PasswordReset) => Promise<PasswordResetDone> {
  const { store, logger, passwords, sessions, notifyOwner } = deps;

  async function removeFactors(tx: Repositories, userId: number): Promise<void> {
    await tx.twoFactor.delete(userId);
    await tx.passkeys.deleteAll(userId);
    await tx.users.setAccessToken(userId, null);
    await tx.users.update(userId, { email: null });
    await tx.identities.releaseAll(userId);
    await tx.flows.deleteOfUser(userId);
  }

  return async ({ username, password, resetFactors }) => {
    const user = await store.users.byLogin(username.trim());
    if (!user) throw authErrors.user_not_found();
    await validateNewPassword(password, user.username);
    const passwordHash = await passwords.hash(password);
    const ending = { userId: user.id, exceptSid: null, reason: 'password_reset' };
    const twoFactor = await sessions.endAll(ending, (end) =>
      store.transaction(async (tx) => {
        if (!(await tx.users.setPassword(user.id, passwordHash, user.authVersion)))
          throw authErrors.changed_meanwhile();
        if (resetFactors) await removeFactors(tx, user.id);
        await end(tx);
        return (await tx.twoFactor.byUser(user.id))?.enabled ?? false;
      }),
    );
    logger.warn({ userId: user.id, resetFactors }, 'password reset, all sessions ended');
    await notifyOwner(user, { about: resetFactors ? 'factors_removed' : 'password_changed', by: 'operator' });
    return { userId: user.id, username: user.username, isRoot: user.role === ROLE.root, twoFactor };
  };
}
