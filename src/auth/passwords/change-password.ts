import type { Clock, Logger } from '../../kernel/index.ts';
import type { Store, UserRecord } from '../../store/ports/index.ts';
import { validateNewPassword } from '../accounts/validate-account.ts';
import type { PasswordHashes } from '../credentials/password-hashes.ts';
import { authErrors } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { type PanelPrincipal, type RequestOrigin, requireSession } from '../principals.ts';
import { changeSecurity } from '../sessions/change-security.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { SignIns } from '../sessions/record-sign-ins.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  tokens: SessionTokens;
  sessions: SessionRegistry;
  passwords: PasswordHashes;
  signIns: SignIns;
  limitGuesses: GuessLimit;
  notifyOwner: NotifyOwner;
};

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
  ctx: Deps,
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

/**
 * Checks the password of a signed-in user. All confirmations inside a session share one count of
 * failures.
 *
 * @throws `auth.password_invalid` naming the field `param` (never a 401: the session is fine), or
 * `auth.too_many_attempts`.
 */
export async function confirmPassword(
  { passwords, limitGuesses, signIns }: { passwords: PasswordHashes; signIns: SignIns; limitGuesses: GuessLimit },
  user: UserRecord,
  { password, param, origin }: { password: string; param: string; origin: RequestOrigin },
): Promise<void> {
  await signIns.watch({ method: 'password', origin, userId: user.id, confirms: true }, async () => {
    const prove = async () => (await passwords.verify(password, user)) || undefined;
    const right = await limitGuesses(`user:${user.id}`, origin.decidingIp, prove);
    if (!right) throw authErrors.password_invalid({ param });
  });
}
