import type { Generation, LoadedPlugin, TaskOrigin } from '../../plugins/index.ts';
import { taskErrors } from '../errors.ts';

/** After how long a client asks again for what a plugin that is away would show. */
export const ASK_AGAIN_SECONDS = 60;

/** For a task whose plugin is switched off or cannot be loaded just now. */
export const pluginAway = () => {
  const message = 'The plugin of this task is not available at the moment. The task is not affected: ask again later.';
  return taskErrors.plugin_unavailable({ message, retryAfterSeconds: ASK_AGAIN_SECONDS });
};

/**
 * The version that shows a task to clients: the one that began it, unless it has none of these
 * `hooks` and the serving version does. Undefined: the task's own version cannot be had now.
 */
export async function findRenderer(
  generation: Generation,
  task: TaskOrigin,
  ...hooks: string[]
): Promise<LoadedPlugin | undefined> {
  const own = await generation.pluginOf(task);
  const serving = generation.servingPluginOf(task);
  const canRender = (plugin: LoadedPlugin | undefined): boolean => hooks.some((hook) => plugin?.has(hook));
  return own && serving && !canRender(own) && canRender(serving) ? serving : own;
}
