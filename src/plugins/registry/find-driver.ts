import type { ChannelRecord } from '../../store/ports/index.ts';
import type { Generation, LoadedPlugin } from '../types.ts';

/** The plugin that drives a channel: the one it is bound to, or the one that declares its type. */
export const findDriver = (
  generation: Generation,
  { taskPluginKey, type }: Pick<ChannelRecord, 'taskPluginKey' | 'type'>,
): LoadedPlugin | undefined => (taskPluginKey ? generation.plugins.get(taskPluginKey) : generation.byChannelType(type));
