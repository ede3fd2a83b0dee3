import { sha256Hex } from '../../kernel/index.ts';
import { STATUS, type UserRecord } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';

/** No longer token exists: the column was narrower while it stored tokens in clear text. */
const MAX_LENGTH = 512;

/**
 * The user of a personal access token, and its digest. Tokens of an earlier format, which could be
 * any text, work too. The store is read every time, so that a replaced token is refused at once.
 *
 * @throws `auth.unauthorized` or `auth.user_disabled`.
 */
export async function authenticatePersonalToken(
  { store }: AuthContext,
  token: string,
): Promise<{ user: UserRecord; tokenHash: string }> {
  const tokenHash = token.length <= MAX_LENGTH ? sha256Hex(token) : undefined;
  const user = tokenHash === undefined ? undefined : await store.users.byAccessToken(tokenHash);
  if (tokenHash === undefined || !user) throw authErrors.unauthorized();
  if (user.status !== STATUS.enabled) throw authErrors.user_disabled();
  return { user, tokenHash };
}
