import { httpErrors } from '../responses/errors.ts';
import { preflightResponse } from '../responses/response-headers.ts';
import { isOpenToOtherSites } from './access-levels.ts';
import type { RouteMatch } from './match-path.ts';
import { isBelow } from './request-path.ts';
import type { RouteIndex } from './route-index.ts';
import type { FindNativePath, NativePathHandler } from './types.ts';

/** The result of looking up a request's method and path. */
export type RouteResolution = RouteMatch & {
  /** Set when the path is a plugin's. Release it after the answer. */
  readonly native?: NativePathHandler;
};

/** The resolution of a request whose address nothing has looked at yet. */
export const UNRESOLVED: RouteResolution = { methods: [], isOpenToOtherSites: false };

/**
 * Finds the route of a request; `path` is undefined for an address that cannot be read. The
 * gateway's own paths win: a plugin's path is looked up only for a path that the gateway does not
 * serve.
 */
export function resolveRoute(
  deps: { routes: RouteIndex; findNativePath: FindNativePath },
  { request, path }: { request: Request; path: string | undefined },
): RouteResolution {
  const own = deps.routes.match(request.method, path ?? '');
  const native = path !== undefined && own.methods.length === 0 ? deps.findNativePath(request, path) : undefined;
  if (!native) return own;
  const route = native.route ? { route: native.route } : {};
  return { native, ...route, methods: native.methods, isOpenToOtherSites: true };
}

/** True for the panel's pages and the routes they call; false for API clients and operators. */
export function isPanelRequest(resolution: RouteResolution, path: string): boolean {
  const { route, methods, native } = resolution;
  if (native || resolution.isOpenToOtherSites || (route && isOpenToOtherSites(route.access))) return false;
  return isBelow(path, '/api') || (methods.length === 0 && !isBelow(path, '/v1'));
}

/**
 * Answers a method that the path does not take: OPTIONS on API-key routes gets a preflight
 * response, everything else is refused.
 * @throws http.method_not_allowed
 */
export function answerOtherMethod(request: Request, resolution: RouteResolution): Response {
  if (request.method !== 'OPTIONS' || !resolution.isOpenToOtherSites) throw httpErrors.method_not_allowed();
  const response = preflightResponse(request, resolution.methods);
  response.headers.set('access-control-allow-origin', '*');
  return response;
}
