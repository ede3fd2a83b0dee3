import type { Json } from '../kernel/index.ts';
import type { LoadedPlugin } from '../plugins/index.ts';
import { taskErrors } from './errors.ts';
import { ownTasks } from './own-tasks.ts';
import type { Caller, OriginTasks, TaskDeps } from './types.ts';

/** Limits of the reference gateway, new-api, which plugins are written for. */
const MAX_ORIGIN_TASKS = 16;
const MAX_ID_CODE_POINTS = 128;

/**
 * The tasks that a decoder named as `originTaskIds`; undefined where it named none. All are the caller's, of this plugin and on one channel that
 * serves: the vendor's account behind another one knows nothing of them.
 * @throws tasks.invalid_origin_task_ids, tasks.origin_task_not_found, tasks.origin_task_platform_mismatch,
 * tasks.origin_task_channel_conflict, tasks.origin_task_channel_disabled
 */
export async function resolveOriginTasks(
  deps: TaskDeps,
  caller: Caller,
  plugin: LoadedPlugin,
  named: Json | undefined,
): Promise<OriginTasks | undefined> {
  const ids = readIds(named);
  if (ids.length === 0) return undefined;
  const tasks = await ownTasks(deps, caller.user.id, ids);
  if (!tasks) throw taskErrors.origin_task_not_found();
  if (tasks.some(({ platform }) => platform !== plugin.key)) throw taskErrors.origin_task_platform_mismatch();
  const [channelId, ...others] = new Set(tasks.map((task) => task.channelId));
  if (channelId === undefined || others.length > 0) throw taskErrors.origin_task_channel_conflict();
  if (deps.channels.find(channelId)?.status !== 1) throw taskErrors.origin_task_channel_disabled();
  return { tasks, channelId };
}

/** Trimmed, each once. */
function readIds(named: Json | undefined): string[] {
  if (named === undefined || named === null) return [];
  if (!Array.isArray(named)) throw taskErrors.invalid_origin_task_ids();
  const ids = named.map((id) => (typeof id === 'string' ? id.trim() : ''));
  if (ids.some((id) => id === '' || [...id].length > MAX_ID_CODE_POINTS)) throw taskErrors.invalid_origin_task_ids();
  const unique = [...new Set(ids)];
  if (unique.length > MAX_ORIGIN_TASKS) throw taskErrors.invalid_origin_task_ids();
  return unique;
}
