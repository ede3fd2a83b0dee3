import { ROLE, type Role, type UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';

/** What somebody does to another's account. */
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

type Person = Pick<UserRecord, 'id' | 'role'>;

const ROOT_ALONE: readonly AdminAction[] = ['promote', 'demote'];
const NEVER_TO_ROOT: readonly AdminAction[] = ['disable', 'promote', 'demote', 'delete'];
/**
 * What one may do to oneself here. Root's balance is among it, since nobody stands above him who
 * could do it.
 */
const TO_ONESELF: readonly AdminAction[] = ['view', 'change_quota'];

/**
 * Who may do what to whom: an administrator to users alone, never to a peer or to root; root to
 * everybody, but root stays what he is. Rejects with `auth.insufficient_privilege`,
 * `auth.root_protected`, or `auth.own_account` for what one does in one's own settings.
 */
export function requireRank(operator: Person, target: Person, action: AdminAction): void {
  const isOneself = operator.id === target.id;
  if (operator.role < ROLE.admin) throw authErrors.insufficient_privilege();
  if (operator.role < ROLE.root) {
    const mayLook = isOneself && action === 'view';
    if (ROOT_ALONE.includes(action) || (target.role >= operator.role && !mayLook)) {
      throw authErrors.insufficient_privilege();
    }
  }
  if (target.role >= ROLE.root && NEVER_TO_ROOT.includes(action)) throw authErrors.root_protected();
  if (isOneself && !TO_ONESELF.includes(action)) throw authErrors.own_account();
}

/**
 * Nobody makes an account of his own rank or above: root makes administrators and users, an
 * administrator makes users.
 */
export function requireGrantableRole(operator: Person, role: Role): void {
  if (operator.role < ROLE.admin || role >= operator.role) throw authErrors.insufficient_privilege();
}
