import { randomAlnum } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';

/** Short enough to tell, and no secret; collisions are tried again. */
const LENGTH = 8;
const MAX_TRIES = 5;

/**
 * The caller's affiliate code, made when he first asks for it. Rejects with `auth.user_not_found`.
 */
export function createAffiliateCode({ store }: { store: Store }): (principal: PanelPrincipal) => Promise<string> {
  return async ({ user }) => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const code = await store.users.ensureAffCode(user.id, randomAlnum(LENGTH));
      if (code !== undefined) return code;
    }
    throw authErrors.user_not_found();
  };
}
