import { type Channels, mapModel, serves } from '../../channels/index.ts';
import {
  findDriver,
  type Generation,
  type LoadedPlugin,
  type ProtocolClaim,
  type ProtocolName,
} from '../../plugins/index.ts';

/** The plugin that serves a model on a protocol, with its claim. */
export type ProtocolOwner = {
  plugin: LoadedPlugin;
  claim: ProtocolClaim;
  /** The claimed model behind the client's name, when that name is a channel's alias. */
  upstreamModel?: string;
  /** A channel of the plugin serves the model to this group. Otherwise the relay may do so. */
  hasChannel: boolean;
};

type Wanted = { generation: Generation; protocol: ProtocolName; model: string; group: string };

/** Plugins that one request may be decoded by. */
const MAX_OWNERS = 4;

/**
 * Finds the plugins that serve `model` on a protocol to a group: those that claim it, if enabled
 * channels of the group list the model, in order of their keys; else the plugin of such a channel
 * that maps the name to a model that the plugin claims; else one that claims it, without a channel.
 * A channel's rest or capacity changes nothing, so that no request moves to another price.
 */
export function findProtocolOwners(
  { channels }: { channels: Pick<Channels, 'known'> },
  { generation, protocol, model, group }: Wanted,
): ProtocolOwner[] {
  const claimed = generation.protocolOwners(protocol, model);
  const withChannel = new Set<LoadedPlugin>();
  let alias: ProtocolOwner | undefined;
  for (const channel of channels.known()) {
    if (!channel.models.includes(model)) continue;
    const upstreamModel = mapModel(channel.modelMapping, model);
    const plugin = findDriver(generation, channel, upstreamModel);
    if (!plugin) continue;
    const { channelTypes, protocols } = plugin.manifest;
    if (!serves(channel, { pluginKey: plugin.key, channelTypes, model, group })) continue;
    if (claimed.some((owner) => owner.plugin === plugin)) {
      withChannel.add(plugin);
      continue;
    }
    const claim = protocols.find(({ name }) => name === protocol);
    if (claim?.models.includes(upstreamModel)) alias ??= { plugin, claim, upstreamModel, hasChannel: true };
  }
  const serving = claimed.filter(({ plugin }) => withChannel.has(plugin));
  if (serving.length > 0) return serving.slice(0, MAX_OWNERS).map((owner) => ({ ...owner, hasChannel: true }));
  if (alias) return [alias];
  return claimed.slice(0, 1).map((owner) => ({ ...owner, hasChannel: false }));
}
