import { type PanelPrincipal, ROLE } from '../../auth/index.ts';
import type { Logger } from '../../kernel/index.ts';
import { assertDeclaredSize } from '../bodies/body-limits.ts';
import { httpErrors } from '../responses/errors.ts';
import { REPLAYED } from '../responses/response-headers.ts';
import { guardOrigin, type OriginGuardConfig } from './guard-origin.ts';
import { readApiKey } from './read-api-key.ts';
import type { Authenticators, DeclaredRoute, Peer, RequestLimits, RequestScope } from './types.ts';

export type AdmissionDeps = AuthorizationDeps & { limits: RequestLimits; maxFileBytes: number };

/**
 * Decides whether a request may reach its route, cheapest check first: declared size, the Critical
 * limit per address, credentials, the limit per user. Puts the principal into the scope. Nothing of
 * the body has been read yet.
 * @throws http.too_large, auth errors, `rate_limited`
 */
export async function admitRequest(deps: AdmissionDeps, admission: Admission): Promise<void> {
  const { scope } = admission;
  const { route, origin } = scope;
  assertDeclaredSize(admission.request, route.bodyLimit, deps.maxFileBytes);
  if (route.critical) await deps.limits.critical(origin.decidingIp);
  await authorizeRequest(deps, admission);
  if (route.perUser && scope.panel) await deps.limits.user(scope.panel.user.id, route.perUser);
}

/**
 * Runs a route, counted by the user's limit of model requests where the route declares that.
 * @throws auth.rate_limited and what `run` throws
 */
export async function runCounted(
  limits: Pick<RequestLimits, 'modelRequests'>,
  scope: RequestScope,
  run: () => Promise<Response>,
): Promise<Response> {
  const { route, api, panel, log } = scope;
  if (!route.modelRequest) return run();
  const payer = api ?? (panel && { user: panel.user, group: panel.user.group });
  if (!payer) return run();
  const recordSuccess = await limits.modelRequests(payer, (state) => {
    scope.rateLimit = state;
  });
  const response = await run();
  // A replay repeats the answer to a request that was already counted.
  if (response.status < 400 && !response.headers.has(REPLAYED)) await countSuccess(recordSuccess, log);
  return response;
}

/** The job is bought: a counter that fails must not make the client order it again. */
export async function countSuccess(record: () => Promise<void>, log: Logger): Promise<void> {
  await record().catch((error) => log.warn({ err: error }, 'model request was not counted'));
}

export type AuthorizationDeps = {
  auth: Authenticators;
  originGuard: OriginGuardConfig;
  guardMetrics: (request: Request, peer: string) => void;
};

/** A request on its way to its route. */
export type Admission = { request: Request; scope: RequestScope; peer: Peer };

export const isAdmin = (panel: PanelPrincipal): boolean => panel.user.role >= ROLE.admin;
export const isRoot = (panel: PanelPrincipal): boolean => panel.user.role >= ROLE.root;

/** Messages of agents. `v1/mcp-routes.ts` checks the key again before one of them orders. */
const AGENTS = '/mcp';

/**
 * An API key whose budget is used up may still read what it has paid for, and end or delete it:
 * what it has begun would go on otherwise.
 */
const isFree = ({ method }: Request, { reads, pattern }: DeclaredRoute): boolean =>
  reads ?? (['GET', 'HEAD', 'DELETE'].includes(method) || pattern.endsWith('/cancel') || pattern === AGENTS);

/**
 * Checks a request's credentials against the access level of its route, and puts the principal into
 * the scope. A new level that is not handled here does not compile.
 * @throws auth errors, http.session_required, http.insufficient_privilege, http.origin_forbidden,
 * http.metrics_forbidden
 */
async function authorizeRequest(deps: AuthorizationDeps, { request, scope, peer }: Admission): Promise<void> {
  const level = scope.route.access;
  if (level === 'public') return;
  const authorization = request.headers.get('authorization') ?? undefined;
  const purpose = isFree(request, scope.route) ? 'read' : 'submit';
  const use = { origin: scope.origin, purpose, idempotencyKey: request.headers.get('idempotency-key') } as const;
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
      scope.api = await deps.auth.authenticateApiKey(readApiKey(request.headers), use);
      return;
    case 'apiKeyOrCapability':
      // A signed link is used even if a key is sent too. The controller verifies the link before it
      // reads anything.
      if (!new URL(request.url).searchParams.has('access'))
        scope.api = await deps.auth.authenticateApiKey(readApiKey(request.headers), use);
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
