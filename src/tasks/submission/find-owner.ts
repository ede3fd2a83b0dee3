import { mapModel } from '../../channels/index.ts';
import type { Generation, LoadedPlugin, ProtocolClaim, ProtocolName } from '../../plugins/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';

/** A plugin that serves a model on a protocol, with its claim. */
export type Owner = {
  plugin: LoadedPlugin;
  claim: ProtocolClaim;
  /** The claimed model that stands behind the client's name, where that is a channel's alias. */
  upstreamModel?: string;
};

/**
 * Who serves `model` on a protocol: the plugin that claims it, else the one of an enabled channel
 * that lists the name and maps it into the plugin's claimed models. Undefined: no plugin does.
 */
export function findOwner(
  { channels }: Pick<TaskDeps, 'channels'>,
  generation: Generation,
  protocol: ProtocolName,
  model: string,
): Owner | undefined {
  const claimed = generation.protocolOwner(protocol, model);
  if (claimed) return claimed;
  for (const channel of channels.known()) {
    if (channel.status !== STATUS.enabled || !channel.models.includes(model)) continue;
    const plugin = channel.taskPluginKey
      ? generation.plugins.get(channel.taskPluginKey)
      : generation.byChannelType(channel.type);
    const claim = plugin?.manifest.protocols.find(({ name }) => name === protocol);
    const upstreamModel = mapModel(channel.modelMapping, model);
    if (plugin && claim?.models.includes(upstreamModel)) return { plugin, claim, upstreamModel };
  }
  return undefined;
}
