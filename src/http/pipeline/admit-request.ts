import { assertDeclaredSize } from '../bodies/body-limits.ts';
import { authorizeRequest } from './authorize-request.ts';
import type { OriginGuardConfig } from './guard-origin.ts';
import { REPLAYED } from './response-headers.ts';
import type { Authenticators, Peer, RequestLimits, RequestScope } from './types.ts';

export type AdmissionDeps = {
  auth: Authenticators;
  originGuard: OriginGuardConfig;
  guardMetrics: (request: Request, peer: string) => void;
  limits: RequestLimits;
  maxFileBytes: number;
};

type Admission = { request: Request; scope: RequestScope; peer: Peer };

/**
 * Decides whether a request may reach its route, cheapest check first: declared size, the Critical
 * limit per address, credentials, the limit per user. Puts the principal into the scope. Nothing of
 * the body has been read yet.
 * @throws http.too_large, auth errors, `rate_limited`
 */
export async function admitRequest(deps: AdmissionDeps, { request, scope, peer }: Admission): Promise<void> {
  const { route, origin } = scope;
  assertDeclaredSize(request, route.bodyLimit, deps.maxFileBytes);
  if (route.critical) await deps.limits.critical(origin.decidingIp);
  const guardMetrics = (received: Request) => deps.guardMetrics(received, peer.address);
  await authorizeRequest({ auth: deps.auth, originGuard: deps.originGuard, guardMetrics }, { request, scope });
  if (route.perUser && scope.panel) await deps.limits.user(scope.panel.user.id, route.perUser);
}

/**
 * Runs a route, counted by the user's limit of model requests where the route declares that.
 * @throws auth.rate_limited and what `run` throws
 */
export async function runCounted(
  limits: Pick<RequestLimits, 'modelRequests'>,
  { route, api, panel }: RequestScope,
  run: () => Promise<Response>,
): Promise<Response> {
  const payer = api ?? (panel && { user: panel.user, group: panel.user.group });
  if (!route.modelRequest || !payer) return run();
  const recordSuccess = await limits.modelRequests(payer.user.id, payer.group);
  const response = await run();
  // A replay repeats the answer to a request that was already counted.
  if (response.status < 400 && !response.headers.has(REPLAYED)) await recordSuccess();
  return response;
}
