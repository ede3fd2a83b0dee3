import { ROLE, type Role, type UserRecord } from '../store/ports/index.ts';
import { authErrors } from './errors.ts';
import type { PanelPrincipal } from './types.ts';

/** Rejects with `auth.insufficient_privilege` unless the user's present role reaches `role`. The role never comes from a token. */
export function requireRole(principal: PanelPrincipal, role: Role): void {
  if (principal.user.role < role) throw authErrors.insufficient_privilege();
}

export const isAdmin = (user: UserRecord): boolean => user.role >= ROLE.admin;

export type SessionPrincipal = Extract<PanelPrincipal, { kind: 'session' }>;

/** Gives the session's principal, or rejects with `auth.session_required` for one that signed in with a personal access token. */
export function requireSession(principal: PanelPrincipal): SessionPrincipal {
  if (principal.kind !== 'session') throw authErrors.session_required();
  return principal;
}
