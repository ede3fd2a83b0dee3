import type { Store } from '../../store/ports/index.ts';
import type { WithLockedAccounts } from '../administration/with-locked-accounts.ts';
import { authErrors } from '../errors.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';

/**
 * Ends every artifact link of one's own that was given out until now. Rejects with
 * `auth.session_required`.
 */
export const createRevokeOwnLinks =
  ({ store }: { store: Store }) =>
  async (principal: PanelPrincipal): Promise<void> => {
    const { user } = requireSession(principal);
    if (!(await store.users.moveLinkVersion(user.id))) throw authErrors.user_not_found();
  };

/** The same for another's account. Rejects as `WithLockedAccounts` does. */
export const createRevokeLinks =
  ({ administer }: { administer: WithLockedAccounts }) =>
  async (principal: PanelPrincipal, userId: number): Promise<void> => {
    await administer(principal, { userId, action: 'revoke_links' }, (tx) => tx.users.moveLinkVersion(userId));
  };
