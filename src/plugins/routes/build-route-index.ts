import type { LoadedPlugin, PluginRoute, RouteMatch, RouteMethod } from '../types.ts';
import { routeParams, routeShape } from './route-paths.ts';

type Owned = { plugin: LoadedPlugin; route: PluginRoute };
type Branch = {
  literals: Map<string, Branch>;
  param?: Branch;
  catchAll?: Branch;
  routes: Map<RouteMethod, Owned>;
};
const newBranch = (): Branch => ({ literals: new Map(), routes: new Map() });

/**
 * Native routes of a generation. A literal segment wins over a parameter, a parameter over a
 * catch-all.
 */
export interface RouteIndex {
  /** The plugin that has this method and shape already, if any. */
  ownerOf(route: PluginRoute): string | undefined;
  add(plugin: LoadedPlugin): void;
  match(method: string, path: string): RouteMatch | undefined;
}

const decodeSegment = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
};

export function createRouteIndex(): RouteIndex {
  const root = newBranch();

  const leafOf = (route: PluginRoute): Branch => {
    let branch = root;
    for (const segment of routeShape(route.path).slice(1).split('/')) {
      if (segment === ':') branch = branch.param ??= newBranch();
      else if (segment === '*') branch = branch.catchAll ??= newBranch();
      else {
        const next = branch.literals.get(segment) ?? newBranch();
        branch.literals.set(segment, next);
        branch = next;
      }
    }
    return branch;
  };

  /**
   * Walks the tree; `values` are the parameters taken so far. Methods of paths that fit are
   * gathered in `allow`.
   */
  const find = (
    branch: Branch,
    segments: readonly string[],
    method: string,
    values: readonly string[],
    allow: Set<RouteMethod>,
  ): { owned: Owned; values: readonly string[] } | undefined => {
    const [segment, ...rest] = segments;
    if (segment === undefined) {
      for (const known of branch.routes.keys()) allow.add(known);
      const owned = branch.routes.get(method as RouteMethod);
      return owned && { owned, values };
    }
    const literal = branch.literals.get(segment);
    const found = literal && find(literal, rest, method, values, allow);
    if (found || segment === '') return found;
    const byParam = branch.param && find(branch.param, rest, method, [...values, segment], allow);
    if (byParam) return byParam;
    return branch.catchAll && find(branch.catchAll, [], method, [...values, segments.join('/')], allow);
  };

  return {
    ownerOf: (route) => leafOf(route).routes.get(route.method)?.plugin.key,
    add(plugin) {
      for (const route of plugin.manifest.routes) leafOf(route).routes.set(route.method, { plugin, route });
    },
    match(method, path) {
      const segments = path.slice(1).split('/').map(decodeSegment);
      if (!path.startsWith('/') || segments.includes(undefined)) return undefined;
      const allow = new Set<RouteMethod>();
      const found = find(root, segments as string[], method, [], allow);
      if (found) {
        const { plugin, route } = found.owned;
        const params = routeParams(route.path).map((name, index) => [name, found.values[index] ?? ''] as const);
        return { kind: 'route', plugin, route, params: Object.fromEntries(params) };
      }
      return allow.size > 0 ? { kind: 'method_not_allowed', allow: [...allow].sort() } : undefined;
    },
  };
}
