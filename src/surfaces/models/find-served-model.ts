import { mapModel, serves } from '../../channels/index.ts';
import type { LoadedPlugin } from '../../plugins/index.ts';
import type { Caller } from '../../tasks/index.ts';
import type { SurfaceDeps } from '../types.ts';

/**
 * The plugin's model behind a client's name: the name itself, or what a channel of the plugin that
 * the caller may use maps it to. Without either it is the name, which the plugin does not serve.
 */
export function findServedModel(
  { channels }: Pick<SurfaceDeps['vendors'], 'channels'>,
  { plugin, caller, model }: { plugin: LoadedPlugin; caller: Caller; model: string },
): string {
  const { models, channelTypes } = plugin.manifest;
  if (models.includes(model)) return model;
  const request = { pluginKey: plugin.key, channelTypes, model, group: caller.group, except: [] };
  for (const channel of channels.known()) {
    const mapped = serves(channel, request) ? mapModel(channel.modelMapping, model) : model;
    if (models.includes(mapped)) return mapped;
  }
  return model;
}
