import { withLockedAccounts } from '../administration/with-locked-accounts.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';

/**
 * Invalidates every artifact link of the caller's own account that was handed out until now.
 *
 * @throws `auth.session_required`
 */
export async function revokeOwnLinks({ store }: AuthContext, principal: PanelPrincipal): Promise<void> {
  const { user } = requireSession(principal);
  if (!(await store.users.moveLinkVersion(user.id))) throw authErrors.user_not_found();
}

/** The same for another account. Throws what `withLockedAccounts` throws. */
export async function revokeLinks(ctx: AuthContext, principal: PanelPrincipal, userId: number): Promise<void> {
  const intent = { principal, userId, action: 'revoke_links' } as const;
  await withLockedAccounts(ctx, intent, ({ tx }) => tx.users.moveLinkVersion(userId));
}
