import type { UserRecord } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import type { RequestOrigin } from '../types.ts';

/**
 * Checks the password of a signed-in user. All confirmations inside a session share one count of
 * failures.
 *
 * @throws `auth.password_invalid` naming the field `param` (never a 401: the session is fine), or
 * `auth.too_many_attempts`.
 */
export async function confirmPassword(
  { passwords, limitGuesses, signIns }: AuthContext,
  user: UserRecord,
  { password, param, origin }: { password: string; param: string; origin: RequestOrigin },
): Promise<void> {
  await signIns.watch({ method: 'password', origin, userId: user.id, confirms: true }, async () => {
    const prove = async () => (await passwords.verify(password, user)) || undefined;
    const right = await limitGuesses(`user:${user.id}`, origin.decidingIp, prove);
    if (!right) throw authErrors.password_invalid({ param });
  });
}
