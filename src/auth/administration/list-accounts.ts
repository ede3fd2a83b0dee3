import type { AdminUserRecord, Page, Paged, Repositories, UserFilter } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { describeFactors } from '../users/describe-user.ts';
import { loadFactors } from '../users/load-factors.ts';
import { type AccountDetail, type AccountView, describeAccount } from './describe-account.ts';
import { requireRank } from './rank-rules.ts';

/**
 * All accounts with names, roles and balances, root's included. Deleted accounts appear too, with
 * the little that is left of them.
 */
export async function listAccounts(
  { store }: AuthContext,
  filter: UserFilter,
  page: Page,
): Promise<Paged<AccountView>> {
  const { total, items } = await store.users.search(filter, page);
  return { total, items: items.map(describeAccount) };
}

/** @throws `auth.user_not_found`, or `auth.insufficient_privilege` for a peer or a higher rank. */
export async function findAccount(
  { store, clock }: AuthContext,
  principal: PanelPrincipal,
  userId: number,
): Promise<AccountDetail> {
  const user = await loadAccount(store, userId);
  requireRank(principal.user, user, 'view');
  const [factors, keys, sessions, invited] = await Promise.all([
    loadFactors(store, userId),
    store.apiKeys.list(userId, { page: 1, pageSize: 1 }),
    store.sessions.countActive(userId, clock.unix()),
    store.users.countInvited(userId),
  ]);
  return { ...describeAccount(user), ...describeFactors(factors), api_keys: keys.total, sessions, invited };
}

/**
 * The account as it is now, deleted or not.
 *
 * @throws `auth.user_not_found`
 */
export async function loadAccount(store: Repositories, userId: number): Promise<AdminUserRecord> {
  const user = await store.users.adminById(userId);
  if (!user) throw authErrors.user_not_found();
  return user;
}
