import { type Repositories, ROLE, type Role, STATUS, type Store, type UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';

export type AdminIntent = {
  /** The operator. */
  principal: PanelPrincipal;
  /** The account to change. */
  userId: number;
  action: AdminAction;
  /** The `revoked_reason` of the user's sessions, if the work may end them. */
  endsSessions?: string;
  /** Runs before the accounts are locked, for rows that other code locks before users. */
  first?: (tx: Repositories) => Promise<unknown>;
};

export type LockedAccount = {
  tx: Repositories;
  target: UserRecord;
  /** Ends all sessions of the account with the transaction. */
  endSessions: () => Promise<unknown>;
};

/**
 * Runs `work` on another account in one transaction that locks the rows of operator and target. The
 * rank rules are checked again under the lock, so that an operator who was demoted or disabled in
 * the meantime changes nothing, nor does anybody change a user who was promoted.
 *
 * @throws `auth.user_not_found`; what `requireRank` throws; `auth.changed_meanwhile` when the
 * operator's account changed since the request was authenticated; what `work` throws. Nothing is
 * changed then.
 */
export async function withLockedAccounts<T>(
  { store, sessions }: { store: Store; sessions: SessionRegistry },
  { principal, userId, action, endsSessions, first }: AdminIntent,
  work: (account: LockedAccount) => Promise<T>,
): Promise<T> {
  // A request that is refused anyway waits for no lock and marks no sessions in the cache.
  const present = await store.users.byId(userId);
  if (!present) throw authErrors.user_not_found();
  requireRank(principal.user, present, action);

  const run = (end: (tx: Repositories) => Promise<unknown>) =>
    store.transaction(async (tx) => {
      await first?.(tx);
      const locked = await tx.users.lock([principal.user.id, userId]);
      const operator = requireUnchanged(principal, locked);
      const target = locked.find(({ id }) => id === userId);
      if (!target) throw authErrors.user_not_found();
      requireRank(operator, target, action);
      return work({ tx, target, endSessions: () => end(tx) });
    });
  if (endsSessions === undefined) return run(async () => {});
  return sessions.endAll({ userId, exceptSid: null, reason: endsSessions }, run);
}

/**
 * The operator among the locked users.
 *
 * @throws `auth.changed_meanwhile` when that account changed since the request was authenticated.
 */
export function requireUnchanged({ user }: PanelPrincipal, locked: readonly UserRecord[]): UserRecord {
  const operator = locked.find(({ id }) => id === user.id);
  if (operator?.status !== STATUS.enabled || operator.authVersion !== user.authVersion) {
    throw authErrors.changed_meanwhile();
  }
  return operator;
}

/** What an operator does to an account. */
type AdminAction =
  | 'view'
  | 'edit'
  | 'enable'
  | 'disable'
  | 'promote'
  | 'demote'
  | 'delete'
  | 'change_quota'
  | 'reset_factor'
  | 'revoke_links';

type RankedUser = Pick<UserRecord, 'id' | 'role'>;

const ROOT_ONLY: readonly AdminAction[] = ['promote', 'demote'];
const NEVER_ON_ROOT: readonly AdminAction[] = ['disable', 'promote', 'demote', 'delete'];
/**
 * What administrators may do to their own account here. It includes the balance, since nobody ranks
 * above root to change it.
 */
const ON_OWN_ACCOUNT: readonly AdminAction[] = ['view', 'change_quota'];

/**
 * The rank rules: administrators act on users only, never on peers or root. Root acts on everybody,
 * but nobody disables, promotes, demotes or deletes root.
 *
 * @throws `auth.insufficient_privilege`, `auth.root_protected`, or `auth.own_account` for changes
 * that belong into the operator's own settings.
 */
export function requireRank(operator: RankedUser, target: RankedUser, action: AdminAction): void {
  const isOwn = operator.id === target.id;
  if (operator.role < ROLE.admin) throw authErrors.insufficient_privilege();
  if (operator.role < ROLE.root) {
    const viewsOwn = isOwn && action === 'view';
    if (ROOT_ONLY.includes(action) || (target.role >= operator.role && !viewsOwn)) {
      throw authErrors.insufficient_privilege();
    }
  }
  if (target.role >= ROLE.root && NEVER_ON_ROOT.includes(action)) throw authErrors.root_protected();
  if (isOwn && !ON_OWN_ACCOUNT.includes(action)) throw authErrors.own_account();
}

/** Whether somebody may see more of an account than its name: their own, or by the rank rules. */
export const mayView = (reader: RankedUser, target: RankedUser): boolean =>
  reader.id === target.id || reader.role === ROLE.root || (reader.role >= ROLE.admin && target.role < reader.role);

/**
 * Operators create accounts below their own rank only: root creates administrators and users,
 * administrators create users.
 *
 * @throws `auth.insufficient_privilege`
 */
export function requireGrantableRole(operator: RankedUser, role: Role): void {
  if (operator.role < ROLE.admin || role >= operator.role) throw authErrors.insufficient_privilege();
}
