import { mapModel } from '../channels/index.ts';
import { findDriver, type Generation, type LoadedPlugin, type ProtocolName } from '../plugins/index.ts';
import type { Relay } from '../relay/index.ts';
import { STATUS } from '../store/ports/index.ts';
import type { Caller } from '../tasks/index.ts';
import type { SurfaceDeps } from './types.ts';

export type WantedPlugin = { generation: Generation; model: string; group: string };

/** The protocols of models that make videos, and of those that make pictures of any kind. */
const VIDEOS: readonly ProtocolName[] = ['proto_video'];
export const PICTURES: readonly ProtocolName[] = ['proto_video', 'proto_image'];

/**
 * The plugin whose artifacts serve a model that no plugin claims: that of an enabled channel which
 * lists the model, if it has artifacts and claims this model for none of `protocols`. One with a
 * channel of the group goes before the others, which `hasChannel` tells apart: plugins whose
 * channels are of other groups, and last those that know the model and have no channel. Undefined:
 * none.
 */
export function findImagePlugin(
  { channels }: Pick<SurfaceDeps['vendors'], 'channels'>,
  { generation, model, group }: WantedPlugin,
  protocols = VIDEOS,
): { plugin: LoadedPlugin; hasChannel: boolean } | undefined {
  const makesOthers = (plugin: LoadedPlugin, names: readonly string[]): boolean =>
    claimsNoneOf(plugin, { protocols, names });
  let other: LoadedPlugin | undefined;
  for (const channel of channels.known()) {
    if (channel.status !== STATUS.enabled || !channel.models.includes(model)) continue;
    const upstreamModel = mapModel(channel.modelMapping, model);
    const plugin = findDriver(generation, channel, upstreamModel);
    if (!plugin || !makesOthers(plugin, [model, upstreamModel])) continue;
    if (channel.groups.includes(group)) return { plugin, hasChannel: true };
    other ??= plugin;
  }
  other ??= [...generation.plugins.values()].find(
    (plugin) => plugin.manifest.models.includes(model) && makesOthers(plugin, [model]),
  );
  return other && { plugin: other, hasChannel: false };
}

/** Whether it has artifacts, and claims none of the model's names for one of these protocols. */
const claimsNoneOf = (
  { manifest }: LoadedPlugin,
  { protocols, names }: { protocols: readonly ProtocolName[]; names: readonly string[] },
): boolean =>
  manifest.hasArtifacts &&
  !manifest.protocols.some(
    ({ name, models }) => protocols.includes(name) && names.some((each) => models.includes(each)),
  );

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
