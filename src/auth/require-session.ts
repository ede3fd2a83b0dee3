import { authErrors } from './errors.ts';
import type { PanelPrincipal } from './types.ts';

export type SessionPrincipal = Extract<PanelPrincipal, { kind: 'session' }>;

/** @throws `auth.session_required` for a caller with a personal access token. */
export function requireSession(principal: PanelPrincipal): SessionPrincipal {
  if (principal.kind !== 'session') throw authErrors.session_required();
  return principal;
}
