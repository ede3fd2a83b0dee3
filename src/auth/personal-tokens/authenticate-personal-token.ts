import { sha256Hex } from '../../kernel/index.ts';
import type { Store, UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';

/** No database holds a longer one: the column was narrower when it kept tokens in clear text. */
const LONGEST = 512;

/**
 * The user of a personal access token, of this layout or an earlier one, where it could be any
 * text. The store is read every time, so that a token that was replaced is refused at once. Rejects
 * with `auth.unauthorized` or `auth.user_disabled`.
 */
export function createAuthenticatePersonalToken({ store }: { store: Store }): (token: string) => Promise<UserRecord> {
  return async (token) => {
    const user = token.length <= LONGEST ? await store.users.byAccessToken(sha256Hex(token)) : undefined;
    if (!user) throw authErrors.unauthorized();
    if (user.status !== USER_ENABLED) throw authErrors.user_disabled();
    return user;
  };
}
