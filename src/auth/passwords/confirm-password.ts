import type { UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import type { RequestOrigin } from '../types.ts';
import type { PasswordHashes } from './password-hashes.ts';

/**
 * Passes when a signed-in user knows his password. Rejects with `auth.password_invalid` naming the
 * field `param` (never a 401: the session is fine), or `auth.too_many_attempts`; all that asks for
 * it inside a session shares one count.
 */
export async function confirmPassword(
  { passwords, limitGuesses, signIns }: { passwords: PasswordHashes; limitGuesses: GuessLimit; signIns: SignIns },
  user: UserRecord,
  { password, param, origin }: { password: string; param: string; origin: RequestOrigin },
): Promise<void> {
  await signIns.watch({ method: 'password', origin, userId: user.id, confirms: true }, async () => {
    const prove = async () => (await passwords.verify(password, user)) || undefined;
    const right = await limitGuesses(`user:${user.id}`, origin.decidingIp, prove);
    if (!right) throw authErrors.password_invalid({ param });
  });
}
