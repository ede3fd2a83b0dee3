import type { Clock, Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import { requireSession } from '../require-session.ts';
import { bundleSession, type RotationBundle } from '../sessions/describe-session.ts';
import type { AccessTokens } from '../tokens/access-tokens.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import { validateNewPassword } from '../users/validate-account.ts';
import type { PasswordHashes } from './password-hashes.ts';

export type PasswordChange = { currentPassword: string; newPassword: string; origin: RequestOrigin };

/**
 * Changes the caller's own password: `auth_version` moves, every other session ends, the current one goes on with the same
 * refresh token and the access token in the answer; the old access token is dead. All of it or nothing.
 *
 * Rejects with `auth.session_required`, `auth.validation_failed`, `auth.password_invalid` (never a 401: the session is fine),
 * `auth.too_many_attempts`, or `auth.changed_meanwhile` when user or session moved at the same time.
 */
export function createChangePassword(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  passwords: PasswordHashes;
  limitGuesses: GuessLimit;
  accessTokens: AccessTokens;
}): (principal: PanelPrincipal, change: PasswordChange) => Promise<RotationBundle> {
  const { store, clock, logger, passwords, limitGuesses, accessTokens } = deps;

  return async (principal, { currentPassword, newPassword, origin }) => {
    const { user, sid, sessionVersion } = requireSession(principal);
    validateNewPassword(newPassword, 'password');
    const right = await limitGuesses(
      `user:${user.id}`,
      origin.ip,
      async () => (await passwords.verify(currentPassword, user.passwordHash)) || undefined,
    );
    if (!right) throw authErrors.password_invalid({ param: 'original_password' });
    const passwordHash = await passwords.hash(newPassword);

    const now = clock.unix();
    const userAuthVersion = user.authVersion + 1;
    const session = await store.transaction(async (tx) => {
      const moved =
        (await tx.users.setPassword(user.id, passwordHash, user.authVersion)) &&
        (await tx.sessions.advance({
          sid,
          expectedVersion: sessionVersion,
          expectedUserAuthVersion: user.authVersion,
          userAuthVersion,
          now,
        }));
      if (!moved) throw authErrors.changed_meanwhile();
      await tx.sessions.revokeAll(user.id, sid, 'password_changed', now);
      return tx.sessions.bySid(sid);
    });
    if (!session) throw authErrors.session_revoked();
    logger.info({ userId: user.id, sid }, 'password changed');
    return bundleSession(accessTokens, session);
  };
}
