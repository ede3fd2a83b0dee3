import { mapModel } from '../channels/index.ts';
import {
  findDriver,
  findUsage,
  type Generation,
  type LoadedPlugin,
  type Manifest,
  type ProtocolName,
} from '../plugins/index.ts';
import type { Relay } from '../relay/index.ts';
import { STATUS } from '../store/ports/index.ts';
import type { Caller } from '../tasks/index.ts';
import type { SurfaceDeps } from './types.ts';

export type WantedPlugin = { generation: Generation; model: string; group: string };

type UsageSchema = Manifest['usageSchema'];

/** A model: what a client calls it, and what its channel maps that to. */
type ModelName = { model: string; upstreamModel?: string };
/** Whether a model may make what a surface answers with, as far as its plugin says. */
type MayMake = (manifest: Manifest, model: ModelName) => boolean;

/**
 * The plugin whose artifacts serve a model that no plugin claims: that of an enabled channel which
 * lists the model, if `mayMake` allows it. One with a channel of the group goes before the others,
 * which `hasChannel` tells apart: plugins whose channels are of other groups, and last those that
 * know the model and have no channel. Undefined: none.
 */
export function findArtifactPlugin(
  { channels }: Pick<SurfaceDeps['vendors'], 'channels'>,
  { generation, model, group }: WantedPlugin,
  mayMake: MayMake,
): { plugin: LoadedPlugin; hasChannel: boolean } | undefined {
  let other: LoadedPlugin | undefined;
  for (const channel of channels.known()) {
    if (channel.status !== STATUS.enabled || !channel.models.includes(model)) continue;
    const upstreamModel = mapModel(channel.modelMapping, model);
    const plugin = findDriver(generation, channel, upstreamModel);
    if (!plugin || !mayMake(plugin.manifest, { model, upstreamModel })) continue;
    if (channel.groups.includes(group)) return { plugin, hasChannel: true };
    other ??= plugin;
  }
  other ??= [...generation.plugins.values()].find(
    ({ manifest }) => manifest.models.includes(model) && mayMake(manifest, { model }),
  );
  return other && { plugin: other, hasChannel: false };
}

/** Facts that plugins bill of sound and texts, never of images. */
const SOUND_FACTS = ['characters', 'clips', 'recorded_seconds', 'songs'];

/**
 * Whether the artifacts of a model may be images. It makes none if its plugin claims it for videos,
 * claims images for others of its models alone, or bills sound. Manifests say no more.
 */
export function mayMakeImages(manifest: Manifest, model: ModelName): boolean {
  const isKnown = listNames(model).some((name) => manifest.models.includes(name));
  const isLeftOut = isKnown && !claims(manifest, 'proto_image', model);
  const claimsOthers = manifest.protocols.some(({ name }) => name === 'proto_image');
  const { usageSchema } = findUsage(manifest, model);
  return (
    manifest.hasArtifacts &&
    !claims(manifest, 'proto_video', model) &&
    !(isLeftOut && claimsOthers) &&
    !billsSound(usageSchema)
  );
}

/**
 * Whether the artifacts of a model may be sound or texts. It makes pictures if its plugin claims it
 * for videos or images, or bills images and no length.
 */
export function mayMakeAudio(manifest: Manifest, model: ModelName): boolean {
  const { usageSchema } = findUsage(manifest, model);
  const isCountedInImages =
    Object.hasOwn(usageSchema, 'images') && !billsLength(usageSchema) && !billsSound(usageSchema);
  return (
    manifest.hasArtifacts &&
    !claims(manifest, 'proto_video', model) &&
    !claims(manifest, 'proto_image', model) &&
    !isCountedInImages
  );
}

const billsSound = (usageSchema: UsageSchema): boolean => SOUND_FACTS.some((fact) => Object.hasOwn(usageSchema, fact));
export const billsLength = (usageSchema: UsageSchema): boolean =>
  Object.values(usageSchema).some((field) => field.kind === 'number' && field.unit === 'second');

const listNames = ({ model, upstreamModel }: ModelName): string[] => [model, ...(upstreamModel ? [upstreamModel] : [])];

const claims = ({ protocols }: Manifest, protocol: ProtocolName, model: ModelName): boolean =>
  protocols.some(({ name, models }) => name === protocol && listNames(model).some((each) => models.includes(each)));

/**
 * Whether the plugin that `find` gives serves the model to the caller. One that has no channel for
 * them leaves the model to a relay that has.
 */
export function outranksRelay(
  deps: Pick<SurfaceDeps, 'pin'> & { relay: Pick<Relay, 'serves'> },
  { caller, model }: { caller: Caller; model: string },
  find: (wanted: WantedPlugin) => { hasChannel: boolean } | undefined,
): boolean {
  const pin = deps.pin();
  try {
    const found = find({ generation: pin.generation, model, group: caller.group });
    return found !== undefined && (found.hasChannel || !deps.relay.serves(caller, model));
  } finally {
    pin.release();
  }
}
