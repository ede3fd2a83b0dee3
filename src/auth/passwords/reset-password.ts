import type { Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { SessionGate } from '../sessions/session-gate.ts';
import { validateNewPassword } from '../users/validate-account.ts';
import type { PasswordHashes } from './password-hashes.ts';

/**
 * Sets a user's password without the old one (the command line's way out): `auth_version` moves and every session ends.
 * Rejects with `auth.user_not_found`, `auth.validation_failed`, or `auth.changed_meanwhile`.
 */
export function createResetPassword(deps: {
  store: Store;
  logger: Logger;
  passwords: PasswordHashes;
  sessions: SessionGate;
}): (reset: { username: string; password: string }) => Promise<{ userId: number; username: string }> {
  const { store, logger, passwords, sessions } = deps;
  return async ({ username, password }) => {
    const user = await store.users.byLogin(username.trim());
    if (!user) throw authErrors.user_not_found();
    await validateNewPassword(password, user.username);
    const passwordHash = await passwords.hash(password);
    await sessions.endAll({ userId: user.id, exceptSid: null, reason: 'password_reset' }, (end) =>
      store.transaction(async (tx) => {
        if (!(await tx.users.setPassword(user.id, passwordHash, user.authVersion)))
          throw authErrors.changed_meanwhile();
        await end(tx);
      }),
    );
    logger.warn({ userId: user.id }, 'password reset, all sessions ended');
    return { userId: user.id, username: user.username };
  };
}
