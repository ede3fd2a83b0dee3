/** Which route a request's method and path mean. The gateway's own paths win over plugins'. */
import { LATER_HOST_ROUTES } from '../../plugins/index.ts';
import { httpErrors } from '../responses/errors.ts';
import { preflightResponse } from '../responses/response-headers.ts';
import { isOpenToOtherSites } from './access-levels.ts';
import { isBelow } from './request-path.ts';
import type { DeclaredRoute, FindNativePath, NativePathHandler } from './types.ts';

export type RouteMatch = {
  /** Undefined: no route takes this method and path. HEAD is served by the route of GET. */
  readonly route?: DeclaredRoute | undefined;
  /** How the path is declared, where it does not take the method. */
  readonly pattern?: string;
  /** The path's segments where the route has parameters, from the left, with their escapes. */
  readonly values?: readonly string[];
  /** The methods that the path takes, HEAD wherever GET is; empty for an unknown path. */
  readonly methods: readonly string[];
  /** A plugin that was installed before the gateway had the path keeps its route there. */
  readonly yields?: boolean;
  /** The method is not allowed, but other sites' pages may call the path with another method. */
  readonly isOpenToOtherSites: boolean;
};

/** The result of looking up a request's method and path. */
export type RouteResolution = RouteMatch & {
  /** Set when the path is a plugin's. Release it after the answer. */
  readonly native?: NativePathHandler;
};

/** Ignores a trailing slash. */
export type MatchPath = (method: string, path: string) => RouteMatch;

/** The routes of one path by method, and the answers to every method it takes. */
type PathRoutes = { byMethod: Map<string, DeclaredRoute>; matches: Map<string, RouteMatch>; other: RouteMatch };
type Segment = { fixed: Map<string, Segment>; parameter?: Segment; routes?: PathRoutes };

/** The resolution of a request whose address nothing has looked at yet. */
export const UNRESOLVED: RouteResolution = { methods: [], isOpenToOtherSites: false };

const YIELDING: ReadonlySet<string> = new Set(LATER_HOST_ROUTES);

/**
 * Finds the route of a request; `path` is undefined for an address that cannot be read. A plugin's
 * path is looked up for what the gateway does not serve, and where its own path yields.
 */
export function resolveRoute(
  deps: { routes: { match: MatchPath }; findNativePath: FindNativePath },
  { request, path }: { request: Request; path: string | undefined },
): RouteResolution {
  const own = deps.routes.match(request.method, path ?? '');
  const mayBePlugins = own.methods.length === 0 || own.yields;
  const native = path !== undefined && mayBePlugins ? deps.findNativePath(request, path) : undefined;
  if (!native) return own;
  if (!native.route && own.methods.length > 0) {
    native.release();
    return own;
  }
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

/**
 * Finds routes by path. A path without parameters wins; then, from the left, a fixed segment wins
 * over a parameter.
 */
export function createPathMatcher(routes: readonly DeclaredRoute[]): MatchPath {
  const fixedPaths = new Map<string, PathRoutes>();
  const root: Segment = { fixed: new Map() };
  for (const route of routes) addRoute(enterPath(trimSlash(route.pattern)), route);

  function enterPath(path: string): PathRoutes {
    if (!path.includes(':')) {
      const known = fixedPaths.get(path) ?? createPath();
      fixedPaths.set(path, known);
      return known;
    }
    const last = path.split('/').reduce(enterSegment, root);
    last.routes ??= createPath();
    return last.routes;
  }

  return (method, path) => {
    const trimmed = trimSlash(path);
    const fixed = fixedPaths.get(trimmed);
    if (fixed) return fixed.matches.get(method) ?? fixed.other;
    const values: string[] = [];
    const found = findBySegments(root, trimmed.split('/'), { at: 0, values });
    if (!found) return UNRESOLVED;
    const match = found.matches.get(method);
    return match ? { ...match, values } : found.other;
  };
}

const createPath = (): PathRoutes => ({ byMethod: new Map(), matches: new Map(), other: UNRESOLVED });

function addRoute(path: PathRoutes, route: DeclaredRoute): void {
  path.byMethod.set(route.method, route);
  const get = path.byMethod.get('GET');
  const yields = YIELDING.has(route.pattern);
  const methods = [...new Set(get ? ['GET', 'HEAD', ...path.byMethod.keys()] : path.byMethod.keys())];
  for (const method of methods) {
    path.matches.set(method, { route: path.byMethod.get(method) ?? get, methods, isOpenToOtherSites: false, yields });
  }
  const isOpen = [...path.byMethod.values()].some(({ access }) => isOpenToOtherSites(access));
  path.other = { pattern: route.pattern, methods, isOpenToOtherSites: isOpen, yields };
}

function enterSegment(from: Segment, name: string): Segment {
  if (name.startsWith(':')) {
    from.parameter ??= { fixed: new Map() };
    return from.parameter;
  }
  const known = from.fixed.get(name) ?? { fixed: new Map() };
  from.fixed.set(name, known);
  return known;
}

/** Collects the values of parameters in `values`. */
function findBySegments(
  from: Segment,
  names: readonly string[],
  { at, values }: { at: number; values: string[] },
): PathRoutes | undefined {
  const name = names[at];
  if (name === undefined) return from.routes;
  const fixed = from.fixed.get(name);
  const found = fixed && findBySegments(fixed, names, { at: at + 1, values });
  if (found || name === '' || !from.parameter) return found;
  const length = values.push(name);
  const below = findBySegments(from.parameter, names, { at: at + 1, values });
  if (!below) values.length = length - 1;
  return below;
}

const trimSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
