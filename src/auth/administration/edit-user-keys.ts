import { type EnabledStatus, STATUS, type Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import { withLockedAccounts } from './lock-accounts.ts';

type Deps = { store: Store; sessions: SessionRegistry };
type UserKey = { userId: number; keyId: number };

/*
 * What an operator does to API keys of others: a leaked key is stopped, and its owner stays signed
 * in. Both throw `auth.api_key_not_found` for a key of another account, and what
 * `withLockedAccounts` throws.
 */

/** Disables a key, so that its next use is refused, or enables it again. */
export async function changeUserKeyStatus(
  deps: Deps,
  principal: PanelPrincipal,
  { userId, keyId, status }: UserKey & { status: EnabledStatus },
): Promise<{ name: string; prefix: string }> {
  const action = status === STATUS.enabled ? 'enable' : 'edit';
  return withLockedAccounts(deps, { principal, userId, action }, async ({ tx }) => {
    const key = await tx.apiKeys.update(keyId, userId, { status });
    if (!key) throw authErrors.api_key_not_found();
    return { name: key.name, prefix: key.prefix };
  });
}

/** Deletes a key. Its running tasks finish and are billed. */
export async function deleteUserKey(
  deps: Deps,
  principal: PanelPrincipal,
  { userId, keyId }: UserKey,
): Promise<{ name: string; prefix: string }> {
  return withLockedAccounts(deps, { principal, userId, action: 'edit' }, async ({ tx }) => {
    const key = await tx.apiKeys.byId(keyId);
    if (key?.userId !== userId || !(await tx.apiKeys.delete(keyId, userId))) throw authErrors.api_key_not_found();
    return { name: key.name, prefix: key.prefix };
  });
}
