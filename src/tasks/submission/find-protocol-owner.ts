import { mapModel } from '../../channels/index.ts';
import {
  findDriver,
  type Generation,
  type LoadedPlugin,
  type ProtocolClaim,
  type ProtocolName,
} from '../../plugins/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';

/** The plugin that serves a model on a protocol, with its claim. */
export type ProtocolOwner = {
  plugin: LoadedPlugin;
  claim: ProtocolClaim;
  /** The claimed model behind the client's name, when that name is a channel's alias. */
  upstreamModel?: string;
};

/**
 * Finds the plugin that claims `model` on a protocol. Without a claim: the plugin of an enabled
 * channel that lists the name and maps it to a model that the plugin claims. Undefined: none.
 */
export function findProtocolOwner(
  { channels }: Pick<TaskDeps, 'channels'>,
  { generation, protocol, model }: { generation: Generation; protocol: ProtocolName; model: string },
): ProtocolOwner | undefined {
  const claimed = generation.protocolOwner(protocol, model);
  if (claimed) return claimed;
  for (const channel of channels.known()) {
    if (channel.status !== STATUS.enabled || !channel.models.includes(model)) continue;
    const plugin = findDriver(generation, channel);
    const claim = plugin?.manifest.protocols.find(({ name }) => name === protocol);
    const upstreamModel = mapModel(channel.modelMapping, model);
    if (plugin && claim?.models.includes(upstreamModel)) return { plugin, claim, upstreamModel };
  }
  return undefined;
}
