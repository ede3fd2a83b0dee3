import { changeSecurity } from '../change-security.ts';
import type { AuthContext } from '../context.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import { validateNewPassword } from '../users/validate-account.ts';
import { confirmPassword } from './confirm-password.ts';

export type PasswordChange = { currentPassword: string; newPassword: string; origin: RequestOrigin };

/**
 * Changes the caller's own password through `changeSecurity`: every other session ends, the current
 * one continues.
 *
 * @throws `auth.session_required`, `auth.validation_failed`, `auth.password_invalid` (never a 401:
 * the session is fine), `auth.too_many_attempts`, or `auth.changed_meanwhile` when user or session
 * changed at the same time.
 */
export async function changePassword(
  ctx: AuthContext,
  principal: PanelPrincipal,
  { currentPassword, newPassword, origin }: PasswordChange,
): Promise<RotationBundle> {
  const { user } = requireSession(principal);
  await validateNewPassword(newPassword, user.username);
  await confirmPassword(ctx, user, { password: currentPassword, param: 'original_password', origin });
  const passwordHash = await ctx.passwords.hash(newPassword);
  return changeSecurity(ctx, principal, {
    reason: 'password_changed',
    write: (tx) => tx.users.setPassword(user.id, passwordHash, user.authVersion),
  });
}
