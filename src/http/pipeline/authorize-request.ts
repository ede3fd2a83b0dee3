import { type PanelPrincipal, ROLE } from '../../auth/index.ts';
import { httpErrors } from '../errors.ts';
import { guardOrigin, type OriginGuardConfig } from './guard-origin.ts';
import type { Authenticators, Peer, RequestScope } from './types.ts';

export type AuthorizationDeps = {
  auth: Authenticators;
  originGuard: OriginGuardConfig;
  guardMetrics: (request: Request, peer: string) => void;
};

/** A request on its way to its route. */
export type Admission = { request: Request; scope: RequestScope; peer: Peer };

export const isAdmin = (panel: PanelPrincipal): boolean => panel.user.role >= ROLE.admin;
export const isRoot = (panel: PanelPrincipal): boolean => panel.user.role >= ROLE.root;

/**
 * Checks a request's credentials against the access level of its route, and puts the principal into
 * the scope. A new level that is not handled here does not compile.
 * @throws auth errors, http.session_required, http.insufficient_privilege, http.origin_forbidden,
 * http.metrics_forbidden
 */
export async function authorizeRequest(deps: AuthorizationDeps, { request, scope, peer }: Admission): Promise<void> {
  const level = scope.route.access;
  if (level === 'public') return;
  const authorization = request.headers.get('authorization') ?? undefined;
  // An API key whose budget is used up may still read what it has paid for.
  const reads = scope.route.reads ?? (request.method === 'GET' || request.method === 'HEAD');
  const use = { ip: scope.origin.decidingIp, purpose: reads ? 'read' : 'submit' } as const;
  const panel = async (): Promise<PanelPrincipal> => {
    scope.panel = { ...(await deps.auth.authenticatePanel(authorization)), origin: scope.origin };
    return scope.panel;
  };
  switch (level) {
    case 'user':
      await panel();
      return;
    case 'session':
      if ((await panel()).kind !== 'session') throw httpErrors.session_required();
      return;
    case 'admin':
      requireRole(await panel(), ROLE.admin);
      return;
    case 'root':
      requireRole(await panel(), ROLE.root);
      return;
    case 'apiKey':
      scope.api = await deps.auth.authenticateApiKey(authorization, use);
      return;
    case 'apiKeyOrCapability':
      // A signed link is used even if a key is sent too. The controller verifies the link before it
      // reads anything.
      if (!new URL(request.url).searchParams.has('access'))
        scope.api = await deps.auth.authenticateApiKey(authorization, use);
      return;
    case 'refreshCookie':
      guardOrigin(request.headers, deps.originGuard);
      return;
    case 'operator':
      deps.guardMetrics(request, peer.address);
      return;
    default:
      level satisfies never;
      throw httpErrors.not_found();
  }
}

function requireRole(principal: PanelPrincipal, role: number): void {
  if (principal.user.role < role) throw httpErrors.insufficient_privilege();
}
