import { randomAlnum } from '../../kernel/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';

/** Short enough to share, and not secret. A collision is retried. */
const LENGTH = 8;
const MAX_TRIES = 5;

/**
 * The caller's affiliate code, created at the first request.
 *
 * @throws `auth.user_not_found`
 */
export async function ensureAffiliateCode({ store }: AuthContext, { user }: PanelPrincipal): Promise<string> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const code = await store.users.ensureAffCode(user.id, randomAlnum(LENGTH));
    if (code !== undefined) return code;
  }
  throw authErrors.user_not_found();
}
