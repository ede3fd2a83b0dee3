import type { Role } from '../store/ports/index.ts';
import { authErrors } from './errors.ts';
import type { PanelPrincipal } from './types.ts';

/** Rejects with `auth.insufficient_privilege` unless the user's present role reaches `role`. The role never comes from a token. */
export function requireRole(principal: PanelPrincipal, role: Role): void {
  if (principal.user.role < role) throw authErrors.insufficient_privilege();
}
