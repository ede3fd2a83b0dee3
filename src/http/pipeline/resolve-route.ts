import { httpErrors } from '../errors.ts';
import { isOpenToOtherSites } from './access-levels.ts';
import type { RouteMatch } from './match-path.ts';
import { isBelow } from './request-path.ts';
import { preflightResponse } from './response-headers.ts';
import type { RouteIndex } from './route-index.ts';
import type { FindNativeRoute, NativeRouteHandler } from './types.ts';

/** The result of looking up a request's method and path. */
export type RouteResolution = RouteMatch & {
  /** Set when a plugin's own route serves the request. Release it after the answer. */
  readonly native?: NativeRouteHandler;
  /** A plugin serves the path. */
  readonly isPluginPath?: boolean;
};

/** The resolution of a request whose address nothing has looked at yet. */
export const UNRESOLVED: RouteResolution = { methods: [], isOpenToOtherSites: false };

/**
 * Finds the route of a request; `path` is undefined for an address that cannot be read. The
 * gateway's own paths win: a plugin's route is looked up only for a path that the gateway does not
 * serve.
 */
export function resolveRoute(
  deps: { routes: RouteIndex; findNativeRoute: FindNativeRoute },
  { request, path }: { request: Request; path: string | undefined },
): RouteResolution {
  const own = deps.routes.match(request.method, path ?? '');
  const native = path !== undefined && own.methods.length === 0 ? deps.findNativeRoute(request, path) : undefined;
  if (!native) return own;
  const handler = native.route ? { native, route: native.route } : {};
  return { ...handler, methods: native.methods, isPluginPath: true, isOpenToOtherSites: true };
}

/** True for the panel's pages and the routes they call; false for API clients and operators. */
export function isPanelRequest(resolution: RouteResolution, path: string): boolean {
  const { route, methods, isPluginPath } = resolution;
  if (isPluginPath || resolution.isOpenToOtherSites || (route && isOpenToOtherSites(route.access))) return false;
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
