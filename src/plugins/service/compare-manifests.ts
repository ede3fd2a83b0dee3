import { isDeepStrictEqual } from 'node:util';
import type { Meta } from '../../../contracts/v1.d.ts';
import { publishMeta } from '../manifest/normalize-meta.ts';
import type { Manifest, PluginRoute, ProtocolClaim, ProtocolName, ResponsesMode } from '../types.ts';

export type NameChanges<T = string> = { added: T[]; removed: T[] };
type UsageForm = NonNullable<Meta['usageSchema']>[string];

/** The differences of two manifests that change what the gateway does. */
export type ManifestChanges = {
  /** Hosts that requests may go to: that of the base URL, and the allowed ones. */
  hosts: NameChanges;
  models: NameChanges;
  routes: NameChanges<PluginRoute> & { changed: { from: PluginRoute; to: PluginRoute }[] };
  protocols: NameChanges<ProtocolClaim> & {
    changed: { name: ProtocolName; modes: NameChanges<ResponsesMode>; models: NameChanges }[];
  };
  channelTypes: NameChanges<number>;
  usageSchema: NameChanges & { changed: { name: string; from: UsageForm; to: UsageForm }[] };
};

const compareNames = <T>(before: readonly T[], after: readonly T[]): NameChanges<T> => ({
  added: after.filter((name) => !before.includes(name)),
  removed: before.filter((name) => !after.includes(name)),
});

/** `before` is `undefined` if no plugin serves: all of `after` is then new. */
export function compareManifests(before: Manifest | undefined, after: Manifest): ManifestChanges {
  return {
    hosts: compareNames(before ? listHosts(before) : [], listHosts(after)),
    models: compareNames(before?.models ?? [], after.models),
    routes: compareRoutes(before?.routes ?? [], after.routes),
    protocols: compareProtocols(before?.protocols ?? [], after.protocols),
    channelTypes: compareNames(before?.channelTypes ?? [], after.channelTypes),
    usageSchema: compareUsage(before ? readUsageForms(before) : {}, readUsageForms(after)),
  };
}

const listHosts = ({ baseUrl, allowedHosts }: Manifest): string[] => [
  ...new Set([...(baseUrl === undefined ? [] : [new URL(baseUrl).host]), ...allowedHosts]),
];

const readUsageForms = (manifest: Manifest): Record<string, UsageForm> => publishMeta(manifest).usageSchema ?? {};

/** Compares lists by the identity of their items. `changed`: items on both sides that differ. */
function compareLists<T>(before: readonly T[], after: readonly T[], identity: (item: T) => string) {
  const known = new Map(before.map((item) => [identity(item), item]));
  const names = new Set(after.map(identity));
  return {
    added: after.filter((item) => !known.has(identity(item))),
    removed: before.filter((item) => !names.has(identity(item))),
    changed: after.flatMap((to) => {
      const from = known.get(identity(to));
      return from === undefined || isDeepStrictEqual(from, to) ? [] : [{ from, to }];
    }),
  };
}

const compareRoutes = (before: readonly PluginRoute[], after: readonly PluginRoute[]): ManifestChanges['routes'] =>
  compareLists(before, after, ({ method, path }) => `${method} ${path}`);

function compareProtocols(
  before: readonly ProtocolClaim[],
  after: readonly ProtocolClaim[],
): ManifestChanges['protocols'] {
  const { added, removed, changed } = compareLists(before, after, ({ name }) => name);
  const modesAndModels = changed.map(({ from, to }) => ({
    name: to.name,
    modes: compareNames(from.supports, to.supports),
    models: compareNames(from.models, to.models),
  }));
  const differs = ({ added: more, removed: fewer }: NameChanges): boolean => more.length + fewer.length > 0;
  return { added, removed, changed: modesAndModels.filter(({ modes, models }) => differs(modes) || differs(models)) };
}

function compareUsage(
  before: Record<string, UsageForm>,
  after: Record<string, UsageForm>,
): ManifestChanges['usageSchema'] {
  const entries = (fields: Record<string, UsageForm>) => Object.entries(fields);
  const { added, removed, changed } = compareLists(entries(before), entries(after), ([name]) => name);
  return {
    added: added.map(([name]) => name),
    removed: removed.map(([name]) => name),
    changed: changed.map(({ from, to }) => ({ name: to[0], from: from[1], to: to[1] })),
  };
}
