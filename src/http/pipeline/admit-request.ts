import type { Logger } from '../../kernel/index.ts';
import { assertDeclaredSize } from '../bodies/body-limits.ts';
import { type Admission, type AuthorizationDeps, authorizeRequest } from './authorize-request.ts';
import { REPLAYED } from './response-headers.ts';
import type { RequestLimits, RequestScope } from './types.ts';

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
  const recordSuccess = await limits.modelRequests(payer.user.id, payer.group, (state) => {
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
