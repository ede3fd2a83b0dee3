import { type Channels, offers } from '../../channels/index.ts';
import { type AppError, sentence } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';
import type { Submission } from '../types.ts';

/**
 * Why no account serves a request: nobody knows the model, or no channel that the caller may use
 * has it.
 */
export function describeUnserved(
  { channels }: { channels: Pick<Channels, 'known'> },
  { plugin, intent }: Pick<Submission, 'plugin' | 'intent'>,
): AppError {
  const { models, channelTypes } = plugin.manifest;
  const { model } = intent;
  const offered = { pluginKey: plugin.key, channelTypes, model };
  if (models.includes(model) || channels.known().some((channel) => offers(channel, offered))) {
    const message = sentence('tasks.channel_missing', { plugin: plugin.key, model: model.slice(0, 100) });
    return taskErrors.no_available_channel({ message, param: 'model' });
  }
  const message = sentence('tasks.model_not_of_plugin', { model: JSON.stringify(model.slice(0, 100)) });
  return taskErrors.model_not_found({ message, param: 'model' });
}
