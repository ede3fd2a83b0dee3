import type { Clock } from '../../kernel/index.ts';
import type { AdminUserRecord, Page, Paged, Repositories, Store, UserFilter } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { describeFactors } from '../users/describe-user.ts';
import { loadFactors } from '../users/load-factors.ts';
import { type AccountDetail, type AccountView, describeAccount } from './describe-account.ts';
import { requireRank } from './rank-rules.ts';

/** What administrators may look at. Deleted accounts are there too; little is left of them. */
export interface ListAccounts {
  /** Everybody's, root's too: names, roles and balances. */
  list(filter: UserFilter, page: Page): Promise<Paged<AccountView>>;
  /**
   * Rejects with `auth.user_not_found`, or with `auth.insufficient_privilege` for a peer or
   * somebody above.
   */
  find(principal: PanelPrincipal, userId: number): Promise<AccountDetail>;
}

export function createListAccounts({ store, clock }: { store: Store; clock: Clock }): ListAccounts {
  return {
    async list(filter, page) {
      const { total, items } = await store.users.search(filter, page);
      return { total, items: items.map(describeAccount) };
    },

    async find(principal, userId) {
      const user = await loadAccount(store, userId);
      requireRank(principal.user, user, 'view');
      const [factors, keys, sessions, invited] = await Promise.all([
        loadFactors(store, userId),
        store.apiKeys.list(userId, { page: 1, pageSize: 1 }),
        store.sessions.countActive(userId, clock.unix()),
        store.users.countInvited(userId),
      ]);
      return { ...describeAccount(user), ...describeFactors(factors), api_keys: keys.total, sessions, invited };
    },
  };
}

/** The account as it stands, deleted or not. Rejects with `auth.user_not_found`. */
export async function loadAccount(store: Repositories, userId: number): Promise<AdminUserRecord> {
  const user = await store.users.adminById(userId);
  if (!user) throw authErrors.user_not_found();
  return user;
}
