import type { Generation, LoadedPlugin, TaskOrigin } from '../plugins/index.ts';

/**
 * The version that shows a task to clients: the one that began it, unless it has none of these
 * `hooks` and the serving version does. Undefined: the task's own version cannot be had now.
 */
export async function findRenderer(
  generation: Generation,
  task: TaskOrigin,
  ...hooks: string[]
): Promise<LoadedPlugin | undefined> {
  const own = await generation.findPlugin(task);
  const serving = generation.findServingPlugin(task);
  const canRender = (plugin: LoadedPlugin | undefined): boolean => hooks.some((hook) => plugin?.has(hook));
  return own && serving && !canRender(own) && canRender(serving) ? serving : own;
}
