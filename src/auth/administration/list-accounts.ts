import type { Budget, Clock } from '../../kernel/index.ts';
import type {
  AdminUserRecord,
  ApiKeyName,
  ApiKeySearch,
  Page,
  Paged,
  Repositories,
  Store,
  UserFilter,
} from '../../store/ports/index.ts';
import {
  describeFactors,
  describeFields,
  type FactorFields,
  loadFactors,
  type UserFields,
} from '../accounts/describe-user.ts';
import {
  type BudgetView,
  describeBudgets,
  describeOwnerLimits,
  type OwnerLimitsView,
} from '../accounts/validate-budgets.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';
import { idleUntil } from '../sessions/check-session.ts';
import { mayView, requireRank } from './with-locked-accounts.ts';

/**
 * All accounts with names, roles and balances, root's included. Deleted accounts appear too, with
 * the little that is left of them.
 */
export async function listAccounts(
  { store }: { store: Store },
  filter: UserFilter,
  page: Page,
): Promise<Paged<AccountView>> {
  const found = await store.users.search(filter, page);
  return { ...found, items: found.items.map(describeAccount) };
}

/** @throws `auth.user_not_found`, or `auth.insufficient_privilege` for a peer or a higher rank. */
export async function findAccount(
  ctx: { store: Store; clock: Clock; config: AuthConfig; settings: () => AuthSettings },
  principal: PanelPrincipal,
  userId: number,
): Promise<AccountDetail> {
  const { store, clock, config, settings } = ctx;
  const now = clock.unix();
  const user = await loadAccount(store, userId);
  requireRank(principal.user, user, 'view');
  const [factors, keys, sessions, invited, [budget = null]] = await Promise.all([
    loadFactors(store, userId),
    store.apiKeys.list(userId, { page: 1, pageSize: 1 }),
    store.sessions.countActive(userId, now, idleUntil(config, now)),
    store.users.countInvited(userId),
    describeBudgets({ store, clock, settings }, [{ scope: 'user', userId, budget: user.budget }]),
  ]);
  return { ...describeAccount(user), ...describeFactors(factors), budget, api_keys: keys.total, sessions, invited };
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

/** An account as administrators see it in a list. Times are Unix seconds. */
export type AccountView = UserFields &
  OwnerLimitsView & {
    remark: string;
    /** What they may spend in each period; null: no such limit. */
    budget: Budget | null;
    /** 0: the account used no affiliate code. */
    inviter_id: number;
    has_access_token: boolean;
    created_at: number;
    /** 0: never. */
    last_login_at: number;
    /** 0: not deleted. */
    deleted_at: number;
  };

/** A single account, with its factors, bindings and counts. */
export type AccountDetail = AccountView &
  FactorFields & {
    budget: BudgetView | null;
    api_keys: number;
    /** Live sessions. */
    sessions: number;
    /** Accounts that used this one's affiliate code. */
    invited: number;
  };

/** Contains no hash, version or credential. */
export const describeAccount = (user: AdminUserRecord): AccountView => ({
  ...describeFields(user),
  remark: user.remark,
  budget: user.budget,
  ...describeOwnerLimits(user),
  inviter_id: user.inviterId,
  has_access_token: user.hasAccessToken,
  created_at: user.createdAt,
  last_login_at: user.lastLoginAt,
  deleted_at: user.deletedAt,
});

/** Names that one search returns. */
const MAX_NAMES = 20;

/** Finds accounts by id or name for filters, which show nothing else of them. */
export async function findUserNames(
  { store }: { store: Store },
  { id, keyword = '' }: { id?: number; keyword?: string },
): Promise<{ id: number; name: string }[]> {
  if (id === undefined) {
    const { items } = await store.users.search({ keyword }, { page: 1, pageSize: MAX_NAMES });
    return items.map((user) => ({ id: user.id, name: user.username }));
  }
  const user = await store.users.adminById(id);
  return user ? [{ id: user.id, name: user.username }] : [];
}

/**
 * Lists API keys. The caller says whose; whether they may ask is decided before. Without `userId`
 * and `all` they are the caller's own. The last use of a key shows only to those who may view its
 * owner.
 */
export async function findKeyNames(
  { store }: { store: Store },
  { user }: PanelPrincipal,
  { all = false, ...find }: Omit<ApiKeySearch, 'firstOf'> & { all?: boolean },
): Promise<ApiKeyName[]> {
  const whose = all ? {} : { userId: user.id };
  const found = await store.apiKeys.names({ ...whose, ...find, firstOf: user.id }, MAX_NAMES);
  return found.map((key) =>
    mayView(user, { id: key.userId, role: key.role }) ? key : { ...key, lastUsedAt: 0, lastUsedIp: '' },
  );
}
