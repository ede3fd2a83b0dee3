import { ROLE, type Role, type UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';

/** What an operator does to an account. */
export type AdminAction =
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
    const mayView = isOwn && action === 'view';
    if (ROOT_ONLY.includes(action) || (target.role >= operator.role && !mayView)) {
      throw authErrors.insufficient_privilege();
    }
  }
  if (target.role >= ROLE.root && NEVER_ON_ROOT.includes(action)) throw authErrors.root_protected();
  if (isOwn && !ON_OWN_ACCOUNT.includes(action)) throw authErrors.own_account();
}

/**
 * Operators create accounts below their own rank only: root creates administrators and users,
 * administrators create users.
 *
 * @throws `auth.insufficient_privilege`
 */
export function requireGrantableRole(operator: RankedUser, role: Role): void {
  if (operator.role < ROLE.admin || role >= operator.role) throw authErrors.insufficient_privilege();
}
