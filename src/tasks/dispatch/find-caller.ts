import { type ApiKeyRecord, ROLE, STATUS, type TaskRecord, type UserRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { Caller, TaskDeps } from '../types.ts';

/**
 * Finds the user and the key that submitted a task when it leaves the queue, as they are now: both
 * are enabled, and may still use the model and the group. Their address and the key's end date
 * counted when they asked. Tasks that wait longer than their user or key exists are ended by the
 * sweep of `dispatcher.ts` (`findLost` in `store/repositories/tasks/waiting-queue.ts`).
 * @throws tasks.caller_disabled, tasks.model_not_allowed
 */
export type FindCaller = (task: TaskRecord) => Promise<Caller>;

/** Reads each user and key once for tasks that are sent together. */
export function createCallerSearch({ store }: Pick<TaskDeps, 'store'>): FindCaller {
  const users = new Map<number, ReturnType<typeof store.users.byId>>();
  const keys = new Map<number, ReturnType<typeof store.apiKeys.byId>>();
  const readOnce = <T>(known: Map<number, T>, id: number, read: (id: number) => T): T => {
    const found = known.get(id) ?? read(id);
    known.set(id, found);
    return found;
  };
  return async (task) => {
    const [user, key] = await Promise.all([
      readOnce(users, task.userId, store.users.byId),
      task.apiKeyId === null ? null : readOnce(keys, task.apiKeyId, store.apiKeys.byId),
    ]);
    return checkCaller(task, user, key);
  };
}

function checkCaller(task: TaskRecord, user: UserRecord | undefined, key: ApiKeyRecord | null | undefined): Caller {
  if (!user || user.status !== STATUS.enabled || key === undefined) throw taskErrors.caller_disabled();
  if (key && key.status !== STATUS.enabled) throw taskErrors.caller_disabled();
  const own = key?.group !== null && key?.group !== undefined && user.role >= ROLE.admin ? key.group : user.group;
  const { originModelName: model } = task.properties;
  if (own !== task.group || (key && key.models.length > 0 && !key.models.includes(model)))
    throw taskErrors.model_not_allowed({ param: 'model' });
  return { user, key, walletId: task.walletId ?? task.userId, group: task.group };
}
