import { type Sentence, sentence } from '../../kernel/index.ts';
import { routeBranches, routeParams, routeShape } from '../manifest/route-paths.ts';
import type {
  Generation,
  LoadedPlugin,
  PluginRoute,
  ProtocolClaim,
  ProtocolName,
  RouteMatch,
  RouteMethod,
} from '../types.ts';

/** Something that two plugins claim, and which of them has it. */
export type Conflict = Sentence & {
  kind: 'channel_type' | 'route' | 'protocol_model';
  /** The key of the plugin that has it. */
  with: string;
  /** `61`, `POST /acme/v1/jobs`, `proto_video acme-1`. */
  subject: string;
};

/** Which plugin owns what, among those admitted so far. Becomes the lookups of a generation. */
export interface OwnershipIndex {
  /** Adds a plugin with all its claims, or gives the first conflict and adds nothing. */
  admit(plugin: LoadedPlugin): Conflict | undefined;
  readonly plugins: ReadonlyMap<string, LoadedPlugin>;
  lookups(): Pick<Generation, 'byChannelType' | 'protocolOwners' | 'matchRoute'>;
}

const claimKey = (protocol: ProtocolName, model: string): string => `${protocol}\n${model}`;

type OwnedClaim = { plugin: LoadedPlugin; claim: ProtocolClaim };

/** `sharing`: keys of the plugins that may claim models that others claim too. */
export function createOwnershipIndex(sharing: ReadonlySet<string> = new Set()): OwnershipIndex {
  const plugins = new Map<string, LoadedPlugin>();
  const channelTypes = new Map<number, LoadedPlugin>();
  /** In order of the plugins' keys. */
  const claims = new Map<string, OwnedClaim[]>();
  const routes = createRouteIndex();

  function findConflict({ key, manifest }: LoadedPlugin): Conflict | undefined {
    for (const type of manifest.channelTypes) {
      const owner = channelTypes.get(type)?.key;
      if (owner !== undefined) {
        const said = sentence('plugins.type_conflict', { plugin: key, type, other: owner });
        return { kind: 'channel_type', with: owner, subject: String(type), ...said };
      }
    }
    for (const route of manifest.routes) {
      const owner = routes.findOwner(route);
      if (owner !== undefined) {
        const subject = `${route.method} ${route.path}`;
        const said = sentence('plugins.route_conflict', {
          plugin: key,
          route: subject,
          other: owner,
          shape: routeShape(route.path),
        });
        return { kind: 'route', with: owner, subject, ...said };
      }
    }
    for (const claim of manifest.protocols) {
      for (const model of claim.models) {
        const owners = claims.get(claimKey(claim.name, model)) ?? [];
        const owner = owners.find((other) => !sharing.has(key) && !sharing.has(other.plugin.key))?.plugin.key;
        if (owner !== undefined) {
          const said = sentence('plugins.model_conflict', {
            plugin: key,
            protocol: claim.name,
            model,
            other: owner,
          });
          return { kind: 'protocol_model', with: owner, subject: `${claim.name} ${model}`, ...said };
        }
      }
    }
    return undefined;
  }

  return {
    plugins,
    admit(plugin) {
      const conflict = findConflict(plugin);
      if (conflict) return conflict;
      plugins.set(plugin.key, plugin);
      for (const type of plugin.manifest.channelTypes) channelTypes.set(type, plugin);
      for (const claim of plugin.manifest.protocols) {
        for (const model of claim.models) {
          const owners = [...(claims.get(claimKey(claim.name, model)) ?? []), { plugin, claim }];
          claims.set(
            claimKey(claim.name, model),
            owners.sort((a, b) => (a.plugin.key < b.plugin.key ? -1 : 1)),
          );
        }
      }
      routes.add(plugin);
      return undefined;
    },
    lookups: () => ({
      byChannelType: (type) => channelTypes.get(type),
      protocolOwners: (protocol, model) => claims.get(claimKey(protocol, model)) ?? [],
      matchRoute: (method, path) => routes.match(method, path),
    }),
  };
}

/** The first conflict that `candidate` would have if it replaced the plugin of its key. */
export function preflight(
  plugins: Iterable<LoadedPlugin>,
  candidate: LoadedPlugin,
  sharing: ReadonlySet<string>,
): Conflict | undefined {
  const index = createOwnershipIndex(sharing);
  for (const plugin of plugins) {
    if (plugin.key !== candidate.key) index.admit(plugin);
  }
  return index.admit(candidate);
}

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
  findOwner(route: PluginRoute): string | undefined;
  add(plugin: LoadedPlugin): void;
  match(method: string, path: string): RouteMatch | undefined;
}

/** First segments of paths that the gateway serves itself. */
const SHARED_NAMESPACES: ReadonlySet<string> = new Set(['', 'v1']);

const toClaim = ({ method, path }: PluginRoute): string => `${method} ${routeShape(path)}`;

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
  /** The plugin whose routes begin with a segment; undefined where several have such routes. */
  const namespaces = new Map<string, LoadedPlugin | undefined>();

  const findLeaf = (route: PluginRoute): Branch => {
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
    findOwner: (route) => owners.get(toClaim(route)),
    add(plugin) {
      for (const route of plugin.manifest.routes) {
        findLeaf(route).routes.set(route.method, { plugin, route });
        owners.set(toClaim(route), plugin.key);
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
