import { httpErrors } from '../errors.ts';
import { isOpenToOtherSites } from './access-levels.ts';
import { isBelow } from './request-path.ts';
import { preflightResponse } from './response-headers.ts';
import type { RouteIndex } from './route-index.ts';
import type { DeclaredRoute, FindNativeRoute, NativeRouteHandler } from './types.ts';

/** The result of looking up a request's method and path. */
export type RouteResolution = {
  /** Set when a plugin's own route serves the request. Release it after the answer. */
  native?: NativeRouteHandler;
  /** Undefined: no route takes this method and path. */
  route?: DeclaredRoute | undefined;
  /** The methods that the path takes; empty for an unknown path. */
  methods: readonly string[];
  /** A plugin serves the path. */
  isPluginPath: boolean;
  /** The method does not fit, but other sites' pages may call the path with another method. */
  isOpenToOtherSites: boolean;
};

/** The resolution of a request whose address nothing has looked at yet. */
export const UNRESOLVED: RouteResolution = { methods: [], isPluginPath: false, isOpenToOtherSites: false };

/**
 * Finds the route of a request. The gateway's own paths win: a plugin's route is looked up only for
 * a path that the gateway does not serve.
 */
export function resolveRoute(
  deps: { routes: RouteIndex; findNativeRoute: FindNativeRoute },
  { request, address }: { request: Request; address: URL | undefined },
): RouteResolution {
  const path = address?.pathname ?? '';
  const own = findOwnRoute(deps.routes, request.method, path);
  const native = address && own.methods.length === 0 ? deps.findNativeRoute(request, path) : undefined;
  if (!native) return { ...own, isPluginPath: false };
  const handler = native.route ? { native, route: native.route } : {};
  return { ...handler, methods: native.methods, isPluginPath: true, isOpenToOtherSites: true };
}

/** `methods` lists HEAD wherever GET is. */
function findOwnRoute(routes: RouteIndex, method: string, path: string) {
  const match = routes.match(method, path);
  const takesGet = match.methods.includes('GET');
  const route = match.route ?? (method === 'HEAD' && takesGet ? routes.match('GET', path).route : undefined);
  const methods = [...new Set(takesGet ? ['GET', 'HEAD', ...match.methods] : match.methods)];
  const isOpen = (known: string) => isOpenToOtherSites(routes.match(known, path).route?.access ?? 'public');
  return { route, methods, isOpenToOtherSites: !route && match.methods.some(isOpen) };
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
