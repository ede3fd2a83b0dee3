import type { PluginSummary } from '../../api/types.ts';
import { guessMedium } from '../playground/find-medium.ts';

/** What the models of a plugin make, as the list is filtered. */
export const pluginKinds = ['video', 'image', 'audio'] as const;
export type PluginKind = (typeof pluginKinds)[number];

const protocolKinds: Readonly<Record<string, PluginKind>> = { proto_video: 'video', proto_image: 'image' };

/** Read in the protocols that a plugin speaks, the names of its models and what it bills. */
export function findKinds({ meta }: Pick<PluginSummary, 'meta'>): ReadonlySet<PluginKind> {
  if (meta === null) return new Set();
  const { protocols = [], models, usageSchema = {}, usageProfiles = [] } = meta;
  const spoken = protocols.flatMap((claim) => protocolKinds[typeof claim === 'string' ? claim : claim.name] ?? []);
  const billed = [usageSchema, ...usageProfiles.map(({ schema }) => schema)].flatMap((schema) => Object.keys(schema));
  const guessed = models.flatMap((model): PluginKind[] => {
    const medium = guessMedium(model, billed);
    // Nothing else is known of a model that is taken for one of videos.
    return medium === 'video' ? [] : [medium === 'image' ? 'image' : 'audio'];
  });
  const kinds = [...spoken, ...guessed];
  return new Set(kinds.length === 0 ? ['video'] : kinds);
}
