import { isOpenToOtherSites } from './access-levels.ts';
import type { DeclaredRoute } from './types.ts';

export type RouteMatch = {
  /** Undefined: no route takes this method and path. HEAD is served by the route of GET. */
  readonly route?: DeclaredRoute | undefined;
  /** The methods that the path takes, HEAD wherever GET is; empty for an unknown path. */
  readonly methods: readonly string[];
  /** The method does not fit, but other sites' pages may call the path with another method. */
  readonly isOpenToOtherSites: boolean;
};

/** Ignores a trailing slash. */
export type MatchPath = (method: string, path: string) => RouteMatch;

/** The routes of one path by method, and the answers to every method it takes. */
type PathRoutes = { byMethod: Map<string, DeclaredRoute>; matches: Map<string, RouteMatch>; other: RouteMatch };
type Segment = { fixed: Map<string, Segment>; parameter?: Segment; routes?: PathRoutes };

const UNKNOWN: RouteMatch = { methods: [], isOpenToOtherSites: false };

/**
 * Finds routes by path. A path without parameters wins; then, from the left, a fixed segment wins
 * over a parameter, as in the framework's router.
 */
export function createPathMatcher(routes: readonly DeclaredRoute[]): MatchPath {
  const fixedPaths = new Map<string, PathRoutes>();
  const root: Segment = { fixed: new Map() };
  for (const route of routes) add(routesOf(trimSlash(route.pattern)), route);

  function routesOf(path: string): PathRoutes {
    if (!path.includes(':')) {
      const known = fixedPaths.get(path) ?? emptyPath();
      fixedPaths.set(path, known);
      return known;
    }
    const last = path.split('/').reduce(enter, root);
    last.routes ??= emptyPath();
    return last.routes;
  }

  return (method, path) => {
    const trimmed = trimSlash(path);
    const found = fixedPaths.get(trimmed) ?? findBySegments(root, trimmed.split('/'), 0);
    return found ? (found.matches.get(method) ?? found.other) : UNKNOWN;
  };
}

const emptyPath = (): PathRoutes => ({ byMethod: new Map(), matches: new Map(), other: UNKNOWN });

function add(path: PathRoutes, route: DeclaredRoute): void {
  path.byMethod.set(route.method, route);
  const get = path.byMethod.get('GET');
  const methods = [...new Set(get ? ['GET', 'HEAD', ...path.byMethod.keys()] : path.byMethod.keys())];
  for (const method of methods) {
    path.matches.set(method, { route: path.byMethod.get(method) ?? get, methods, isOpenToOtherSites: false });
  }
  const isOpen = [...path.byMethod.values()].some(({ access }) => isOpenToOtherSites(access));
  path.other = { methods, isOpenToOtherSites: isOpen };
}

function enter(from: Segment, name: string): Segment {
  if (name.startsWith(':')) {
    from.parameter ??= { fixed: new Map() };
    return from.parameter;
  }
  const known = from.fixed.get(name) ?? { fixed: new Map() };
  from.fixed.set(name, known);
  return known;
}

function findBySegments(from: Segment, names: readonly string[], at: number): PathRoutes | undefined {
  const name = names[at];
  if (name === undefined) return from.routes;
  const fixed = from.fixed.get(name);
  const found = fixed && findBySegments(fixed, names, at + 1);
  if (found || name === '' || !from.parameter) return found;
  return findBySegments(from.parameter, names, at + 1);
}

const trimSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
