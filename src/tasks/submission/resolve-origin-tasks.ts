import type { Json } from '../../kernel/index.ts';
import { type LoadedPlugin, readOriginTaskIds, servesPlatform } from '../../plugins/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { OriginTasks } from '../../vendors/index.ts';
import { taskErrors } from '../errors.ts';
import { findOriginAccount, findOwnOriginTasks } from '../state/find-own-tasks.ts';
import type { Caller, TaskDeps } from '../types.ts';

/** `named`: what the decoder returned as `originTaskIds`. */
type NamedTasks = { caller: Caller; plugin: LoadedPlugin; named: Json | undefined };

/** Clients of the responses API know a task as `resp_…`. */
const toTaskId = (id: string): string => id.replace(/^resp_(?=[A-Za-z0-9]{32}$)/, 'task_');

/**
 * Reads the tasks that a decoder named as `originTaskIds`; undefined when it named none. All must
 * be the caller's, of this plugin, and of the same enabled account: others do not know them.
 * @throws tasks.invalid_origin_task_ids, tasks.origin_task_not_found,
 * tasks.origin_task_platform_mismatch, tasks.origin_task_channel_conflict,
 * tasks.origin_task_channel_disabled
 */
export async function resolveOriginTasks(
  deps: TaskDeps,
  { caller, plugin, named }: NamedTasks,
): Promise<OriginTasks | undefined> {
  const ids = readOriginTaskIds(named);
  if (!ids.ok) throw taskErrors.invalid_origin_task_ids({ message: ids.error });
  if (ids.value.length === 0) return undefined;
  const tasks = await findOwnOriginTasks(deps, caller.user.id, [...new Set(ids.value.map(toTaskId))]);
  if (!tasks) throw taskErrors.origin_task_not_found();
  const pin = deps.pin();
  try {
    const isOwn = tasks.every(({ platform }) => servesPlatform(pin.generation, plugin, platform));
    if (!isOwn) throw taskErrors.origin_task_platform_mismatch();
  } finally {
    pin.release();
  }
  const { channel, credential } = await findOriginAccount(deps, tasks);
  if (channel.status !== STATUS.enabled || credential.status !== STATUS.enabled)
    throw taskErrors.origin_task_channel_disabled();
  return { tasks, channelId: channel.id, credentialId: credential.id };
}
