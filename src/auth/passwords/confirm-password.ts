import type { UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import type { DecidingIp } from '../types.ts';
import type { PasswordHashes } from './password-hashes.ts';

/**
 * Passes when a signed-in user knows his password. Rejects with `auth.password_invalid` naming the field `param` (never a 401: the
 * session is fine), or `auth.too_many_attempts`; all that asks for it inside a session shares one count.
 */
export async function confirmPassword(
  { passwords, limitGuesses }: { passwords: PasswordHashes; limitGuesses: GuessLimit },
  user: UserRecord,
  { password, param, ip }: { password: string; param: string; ip: DecidingIp },
): Promise<void> {
  const right = await limitGuesses(
    `user:${user.id}`,
    ip,
    async () => (await passwords.verify(password, user)) || undefined,
  );
  if (!right) throw authErrors.password_invalid({ param });
}
