import { ROLE, STATUS, type TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { Caller, TaskDeps } from '../types.ts';

/**
 * Reads the user and the key that submitted a task, as they are now: both are enabled, and may
 * still use the model and the group. Their address and the key's end date counted when they asked.
 * @throws tasks.caller_disabled, tasks.model_not_allowed
 */
export async function findCaller({ store }: TaskDeps, task: TaskRecord): Promise<Caller> {
  const [user, key] = await Promise.all([
    store.users.byId(task.userId),
    task.apiKeyId === null ? null : store.apiKeys.byId(task.apiKeyId),
  ]);
  if (!user || user.status !== STATUS.enabled || key === undefined) throw taskErrors.caller_disabled();
  if (key && key.status !== STATUS.enabled) throw taskErrors.caller_disabled();
  const own = key?.group !== null && key?.group !== undefined && user.role >= ROLE.admin ? key.group : user.group;
  const { originModelName: model } = task.properties;
  if (own !== task.group || (key && key.models.length > 0 && !key.models.includes(model)))
    throw taskErrors.model_not_allowed({ param: 'model' });
  return { user, key, walletId: task.walletId ?? task.userId, group: task.group };
}
