import type { Json } from '../../kernel/index.ts';
import { type LoadedPlugin, readOriginTaskIds } from '../../plugins/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { ownTasks } from '../state/own-tasks.ts';
import type { Caller, OriginTasks, TaskDeps } from '../types.ts';

/**
 * The tasks that a decoder named as `originTaskIds`; undefined where it named none. All are the
 * caller's, of this plugin and on one channel that serves: the vendor's account behind another one
 * knows nothing of them.
 * @throws tasks.invalid_origin_task_ids, tasks.origin_task_not_found,
 * tasks.origin_task_platform_mismatch, tasks.origin_task_channel_conflict,
 * tasks.origin_task_channel_disabled
 */
export async function resolveOriginTasks(
  deps: TaskDeps,
  caller: Caller,
  plugin: LoadedPlugin,
  named: Json | undefined,
): Promise<OriginTasks | undefined> {
  const ids = readOriginTaskIds(named);
  if (!ids.ok) throw taskErrors.invalid_origin_task_ids({ message: ids.error });
  if (ids.value.length === 0) return undefined;
  const tasks = await ownTasks(deps, caller.user.id, ids.value);
  if (!tasks) throw taskErrors.origin_task_not_found();
  if (tasks.some(({ platform }) => platform !== plugin.key)) throw taskErrors.origin_task_platform_mismatch();
  const [channelId, ...others] = new Set(tasks.map((task) => task.channelId));
  if (channelId === undefined || others.length > 0) throw taskErrors.origin_task_channel_conflict();
  if (deps.channels.find(channelId)?.status !== STATUS.enabled) throw taskErrors.origin_task_channel_disabled();
  return { tasks, channelId };
}
