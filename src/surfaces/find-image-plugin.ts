import { mapModel } from '../channels/index.ts';
import { findDriver, type Generation, type LoadedPlugin } from '../plugins/index.ts';
import type { Relay } from '../relay/index.ts';
import { STATUS } from '../store/ports/index.ts';
import type { Caller } from '../tasks/index.ts';
import type { SurfaceDeps } from './types.ts';

export type WantedPlugin = { generation: Generation; model: string; group: string };

/**
 * The plugin whose artifacts serve a model that no plugin claims: that of an enabled channel which
 * lists the model, if it has artifacts and does not make videos of this model. One with a channel
 * of the group goes before the others, which `hasChannel` tells apart. Undefined: none.
 */
export function findImagePlugin(
  { channels }: Pick<SurfaceDeps['vendors'], 'channels'>,
  { generation, model, group }: WantedPlugin,
): { plugin: LoadedPlugin; hasChannel: boolean } | undefined {
  let other: LoadedPlugin | undefined;
  for (const channel of channels.known()) {
    if (channel.status !== STATUS.enabled || !channel.models.includes(model)) continue;
    const upstreamModel = mapModel(channel.modelMapping, model);
    const plugin = findDriver(generation, channel, upstreamModel);
    if (!plugin?.manifest.hasArtifacts) continue;
    const makesVideos = plugin.manifest.protocols.some(
      ({ name, models }) => name === 'proto_video' && (models.includes(model) || models.includes(upstreamModel)),
    );
    if (makesVideos) continue;
    if (channel.groups.includes(group)) return { plugin, hasChannel: true };
    other ??= plugin;
  }
  return other && { plugin: other, hasChannel: false };
}

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
