import { createRouteIndex } from '../routes/build-route-index.ts';
import { routeShape } from '../routes/route-paths.ts';
import type { Generation, LoadedPlugin, ProtocolClaim, ProtocolName } from '../types.ts';

/** Something that two plugins claim, and which of them has it. */
export type Conflict = {
  kind: 'channel_type' | 'route' | 'protocol_model';
  /** The key of the plugin that has it. */
  with: string;
  /** `61`, `POST /acme/v1/jobs`, `proto_video acme-1`. */
  subject: string;
  message: string;
};

/** Which plugin owns what, among those admitted so far. Becomes the lookups of a generation. */
export interface OwnershipIndex {
  /** Adds a plugin with all its claims, or gives the first conflict and adds nothing. */
  admit(plugin: LoadedPlugin): Conflict | undefined;
  readonly plugins: ReadonlyMap<string, LoadedPlugin>;
  lookups(): Pick<Generation, 'byChannelType' | 'protocolOwner' | 'matchRoute'>;
}

const claimKey = (protocol: ProtocolName, model: string): string => `${protocol}\n${model}`;

export function createOwnershipIndex(): OwnershipIndex {
  const plugins = new Map<string, LoadedPlugin>();
  const channelTypes = new Map<number, LoadedPlugin>();
  const claims = new Map<string, { plugin: LoadedPlugin; claim: ProtocolClaim }>();
  const routes = createRouteIndex();

  function findConflict({ key, manifest }: LoadedPlugin): Conflict | undefined {
    for (const type of manifest.channelTypes) {
      const owner = channelTypes.get(type)?.key;
      if (owner !== undefined) {
        const message = `plugin ${key} channel type ${type} conflicts with plugin ${owner}`;
        return { kind: 'channel_type', with: owner, subject: String(type), message };
      }
    }
    for (const route of manifest.routes) {
      const owner = routes.ownerOf(route);
      if (owner !== undefined) {
        const subject = `${route.method} ${route.path}`;
        const message = `plugin ${key} route ${subject} conflicts with plugin ${owner} (same shape ${routeShape(route.path)})`;
        return { kind: 'route', with: owner, subject, message };
      }
    }
    for (const claim of manifest.protocols) {
      for (const model of claim.models) {
        const owner = claims.get(claimKey(claim.name, model))?.plugin.key;
        if (owner !== undefined) {
          const message = `plugin ${key} protocol ${claim.name} model "${model}" conflicts with plugin ${owner}`;
          return { kind: 'protocol_model', with: owner, subject: `${claim.name} ${model}`, message };
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
        for (const model of claim.models) claims.set(claimKey(claim.name, model), { plugin, claim });
      }
      routes.add(plugin);
      return undefined;
    },
    lookups: () => ({
      byChannelType: (type) => channelTypes.get(type),
      protocolOwner: (protocol, model) => claims.get(claimKey(protocol, model)),
      matchRoute: (method, path) => routes.match(method, path),
    }),
  };
}

/** The first conflict that `candidate` would have if it replaced the plugin of its key. */
export function preflight(plugins: Iterable<LoadedPlugin>, candidate: LoadedPlugin): Conflict | undefined {
  const index = createOwnershipIndex();
  for (const plugin of plugins) {
    if (plugin.key !== candidate.key) index.admit(plugin);
  }
  return index.admit(candidate);
}
