import { type ApiPrincipal, type DecidingIp, type PanelPrincipal, ROLE } from '../../auth/index.ts';
import { httpErrors } from '../errors.ts';
import type { AccessLevel } from './access-levels.ts';
import { guardOrigin, type OriginGuardConfig } from './guard-origin.ts';
import type { RequestScope } from './request-scope.ts';

/**
 * What the front door asks of the auth room. The argument is the `Authorization` header as sent.
 */
export type Authenticators = {
  authenticatePanel(authorization: string | undefined): Promise<PanelPrincipal>;
  authenticateApiKey(
    authorization: string | undefined,
    use: { ip: DecidingIp; purpose: 'submit' | 'read' },
  ): Promise<ApiPrincipal>;
};

export const isAdmin = (panel: PanelPrincipal): boolean => panel.user.role >= ROLE.admin;
export const isRoot = (panel: PanelPrincipal): boolean => panel.user.role >= ROLE.root;

/**
 * Lets a request through to a route of `level` or throws; puts the principal into the scope. A new
 * level that is not handled here does not compile.
 */
export async function authorizeRequest(
  deps: { auth: Authenticators; originGuard: OriginGuardConfig; guardMetrics: (request: Request) => void },
  level: AccessLevel,
  request: Request,
  scope: RequestScope,
): Promise<void> {
  const authorization = request.headers.get('authorization') ?? undefined;
  // A key whose budget is used up may still read what it has paid for.
  const reads = scope.route.reads ?? (request.method === 'GET' || request.method === 'HEAD');
  const use = { ip: scope.origin.decidingIp, purpose: reads ? 'read' : 'submit' } as const;
  const panel = async (): Promise<PanelPrincipal> => {
    scope.panel = { ...(await deps.auth.authenticatePanel(authorization)), origin: scope.origin };
    return scope.panel;
  };
  switch (level) {
    case 'public':
      return;
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
      // A signed address decides alone, whatever key comes along; the controller verifies it before
      // anything is read.
      if (!new URL(request.url).searchParams.has('access'))
        scope.api = await deps.auth.authenticateApiKey(authorization, use);
      return;
    case 'refreshCookie':
      guardOrigin(request.headers, deps.originGuard);
      return;
    case 'operator':
      deps.guardMetrics(request);
      return;
    default:
      level satisfies never;
      throw httpErrors.not_found();
  }
}

function requireRole(principal: PanelPrincipal, role: number): void {
  if (principal.user.role < role) throw httpErrors.insufficient_privilege();
}
