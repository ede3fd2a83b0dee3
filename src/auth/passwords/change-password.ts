import type { ChangeSecurity } from '../change-security.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import { validateNewPassword } from '../users/validate-account.ts';
import { confirmPassword } from './confirm-password.ts';
import type { PasswordHashes } from './password-hashes.ts';

export type PasswordChange = { currentPassword: string; newPassword: string; origin: RequestOrigin };

/**
 * Changes the caller's own password, as a change of security: every other session ends, the current
 * one goes on.
 *
 * Rejects with `auth.session_required`, `auth.validation_failed`, `auth.password_invalid` (never a
 * 401: the session is fine), `auth.too_many_attempts`, or `auth.changed_meanwhile` when user or
 * session moved at the same time.
 */
export function createChangePassword(deps: {
  passwords: PasswordHashes;
  limitGuesses: GuessLimit;
  signIns: SignIns;
  changeSecurity: ChangeSecurity;
}): (principal: PanelPrincipal, change: PasswordChange) => Promise<RotationBundle> {
  const { passwords, changeSecurity } = deps;

  return async (principal, { currentPassword, newPassword, origin }) => {
    const { user } = requireSession(principal);
    await validateNewPassword(newPassword, user.username);
    await confirmPassword(deps, user, { password: currentPassword, param: 'original_password', origin });
    const passwordHash = await passwords.hash(newPassword);
    return changeSecurity(principal, {
      reason: 'password_changed',
      write: (tx) => tx.users.setPassword(user.id, passwordHash, user.authVersion),
    });
  };
}
