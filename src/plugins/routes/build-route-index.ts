import type { LoadedPlugin, PluginRoute, RouteMatch, RouteMethod } from '../types.ts';
import { routeBranches, routeParams, routeShape } from './route-paths.ts';

type OwnedRoute = { plugin: LoadedPlugin; route: PluginRoute };
type Branch = {
  literals: Map<string, Branch>;
  param?: Branch;
  catchAll?: Branch;
  routes: Map<RouteMethod, OwnedRoute>;
};
const createBranch = (): Branch => ({ literals: new Map(), routes: new Map() });

/**
 * The native routes of a generation. A literal segment takes precedence over a parameter, and a
 * parameter over a catch-all.
 */
export interface RouteIndex {
  /** The key of the plugin that has a route of this method and shape, if any. */
  ownerOf(route: PluginRoute): string | undefined;
  add(plugin: LoadedPlugin): void;
  match(method: string, path: string): RouteMatch | undefined;
}

/** First segments of paths that the gateway serves itself. */
const SHARED_NAMESPACES: ReadonlySet<string> = new Set(['', 'v1']);

const claimOf = ({ method, path }: PluginRoute): string => `${method} ${routeShape(path)}`;

const decodeSegment = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
};

export function createRouteIndex(): RouteIndex {
  const root = createBranch();
  /** The keys of plugins by method and shape of their routes. */
  const owners = new Map<string, string>();
  /** Whose routes begin with a segment; undefined for those of several plugins. */
  const namespaces = new Map<string, LoadedPlugin | undefined>();

  const leafOf = (route: PluginRoute): Branch => {
    let branch = root;
    for (const segment of routeBranches(route.path)) {
      if (segment === ':') branch = branch.param ??= createBranch();
      else if (segment === '*') branch = branch.catchAll ??= createBranch();
      else {
        const next = branch.literals.get(segment) ?? createBranch();
        branch.literals.set(segment, next);
        branch = next;
      }
    }
    return branch;
  };

  type Search = {
    method: string;
    /** Collects all routes whose path matches, by their method. */
    allow: Map<RouteMethod, OwnedRoute>;
  };
  type Path = { segments: readonly string[]; values: readonly string[] };

  /** Walks the tree. `values` are the parameters so far, `segments` what is left of the path. */
  const find = (
    branch: Branch,
    { segments, values }: Path,
    search: Search,
  ): { owned: OwnedRoute; values: readonly string[] } | undefined => {
    const { method, allow } = search;
    const [segment, ...rest] = segments;
    if (segment === undefined) {
      for (const [known, owned] of branch.routes) if (!allow.has(known)) allow.set(known, owned);
      const owned = branch.routes.get(method as RouteMethod);
      return owned && { owned, values };
    }
    const literal = branch.literals.get(segment);
    const found = literal && find(literal, { segments: rest, values }, search);
    if (found || segment === '') return found;
    const byParam = branch.param && find(branch.param, { segments: rest, values: [...values, segment] }, search);
    if (byParam) return byParam;
    return branch.catchAll && find(branch.catchAll, { segments: [], values: [...values, segments.join('/')] }, search);
  };

  return {
    ownerOf: (route) => owners.get(claimOf(route)),
    add(plugin) {
      for (const route of plugin.manifest.routes) {
        leafOf(route).routes.set(route.method, { plugin, route });
        owners.set(claimOf(route), plugin.key);
        const [, first = ''] = route.path.split('/');
        const isAlone = !namespaces.has(first) || namespaces.get(first)?.key === plugin.key;
        namespaces.set(first, isAlone ? plugin : undefined);
      }
    },
    match(method, path) {
      const segments = path.slice(1).split('/').map(decodeSegment);
      if (!path.startsWith('/') || segments.includes(undefined)) return undefined;
      const allow = new Map<RouteMethod, OwnedRoute>();
      const found = find(root, { segments: segments as string[], values: [] }, { method, allow });
      if (found) {
        const { plugin, route } = found.owned;
        const params = routeParams(route.path).map((name, index) => [name, found.values[index] ?? ''] as const);
        return { kind: 'route', plugin, route, params: Object.fromEntries(params) };
      }
      const [other] = allow.values();
      if (other) return { kind: 'method_not_allowed', plugin: other.plugin, allow: [...allow.keys()].sort() };
      const [first = ''] = segments as string[];
      const owner = SHARED_NAMESPACES.has(first) ? undefined : namespaces.get(first);
      return owner && { kind: 'not_found', plugin: owner };
    },
  };
}
