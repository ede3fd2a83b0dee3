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

/**
 * Finds the plugin that serves `model` on a protocol to a group: the one that claims it, if an
 * enabled channel of the group lists the model; else the plugin of such a channel that maps the
 * name to a model that the plugin claims; else the one that claims it, without a channel. A
 * channel's rest or capacity changes nothing, so that no request moves to another price.
 */
export function findProtocolOwner(
  { channels }: { channels: Pick<Channels, 'known'> },
  { generation, protocol, model, group }: Wanted,
): ProtocolOwner | undefined {
  const claimed = generation.protocolOwner(protocol, model);
  let alias: ProtocolOwner | undefined;
  for (const channel of channels.known()) {
    if (!channel.models.includes(model)) continue;
    const plugin = findDriver(generation, channel);
    if (!plugin) continue;
    const { channelTypes, protocols } = plugin.manifest;
    if (!serves(channel, { pluginKey: plugin.key, channelTypes, model, group, except: [] })) continue;
    if (plugin === claimed?.plugin) return { ...claimed, hasChannel: true };
    const claim = protocols.find(({ name }) => name === protocol);
    const upstreamModel = mapModel(channel.modelMapping, model);
    if (claim?.models.includes(upstreamModel)) alias ??= { plugin, claim, upstreamModel, hasChannel: true };
  }
  return alias ?? (claimed && { ...claimed, hasChannel: false });
}
