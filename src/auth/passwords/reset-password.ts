import type { Clock, Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { validateNewPassword } from '../users/validate-account.ts';
import type { PasswordHashes } from './password-hashes.ts';

/**
 * Sets a user's password without the old one (the command line's way out): `auth_version` moves and every session ends.
 * Rejects with `auth.user_not_found`, `auth.validation_failed`, or `auth.changed_meanwhile`.
 */
export function createResetPassword(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  passwords: PasswordHashes;
}): (reset: { username: string; password: string }) => Promise<{ userId: number; username: string }> {
  const { store, clock, logger, passwords } = deps;
  return async ({ username, password }) => {
    validateNewPassword(password);
    const passwordHash = await passwords.hash(password);
    const user = await store.transaction(async (tx) => {
      const found = await tx.users.byLogin(username.trim());
      if (!found) throw authErrors.user_not_found();
      if (!(await tx.users.setPassword(found.id, passwordHash, found.authVersion)))
        throw authErrors.changed_meanwhile();
      await tx.sessions.revokeAll(found.id, null, 'password_reset', clock.unix());
      return found;
    });
    logger.warn({ userId: user.id }, 'password reset, all sessions ended');
    return { userId: user.id, username: user.username };
  };
}
