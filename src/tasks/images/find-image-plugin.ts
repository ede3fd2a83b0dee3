import { mapModel } from '../../channels/index.ts';
import { findDriver, type Generation, type LoadedPlugin } from '../../plugins/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';

/**
 * The plugin that serves a model on `POST /v1/images/generations`: that of an enabled channel which
 * lists the model, if it has artifacts and does not make videos of this model. Undefined: none.
 */
export function findImagePlugin(
  { channels }: Pick<TaskDeps, 'channels'>,
  { generation, model }: { generation: Generation; model: string },
): LoadedPlugin | undefined {
  for (const channel of channels.known()) {
    if (channel.status !== STATUS.enabled || !channel.models.includes(model)) continue;
    const plugin = findDriver(generation, channel);
    if (!plugin?.manifest.hasArtifacts) continue;
    const upstreamModel = mapModel(channel.modelMapping, model);
    const makesVideos = plugin.manifest.protocols.some(
      ({ name, models }) => name === 'proto_video' && (models.includes(model) || models.includes(upstreamModel)),
    );
    if (!makesVideos) return plugin;
  }
  return undefined;
}
