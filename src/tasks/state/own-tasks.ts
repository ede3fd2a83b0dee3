import type { TaskRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';

/** What can be an id at all: PostgreSQL takes no NUL, and nothing else is worth a query. */
const TASK_ID = /^[\x21-\x7e]{1,191}$/;

/**
 * The user's own tasks in the order of `ids`, each as often as it is named, by one statement.
 * Undefined when one of them does not exist or is somebody else's, which nobody can tell apart.
 */
export async function ownTasks(
  { store }: Pick<TaskDeps, 'store'>,
  userId: number,
  ids: readonly string[],
): Promise<TaskRecord[] | undefined> {
  if (!ids.every((id) => TASK_ID.test(id))) return undefined;
  // An empty status is no task's: all of them are given.
  const asked = [...new Set(ids)].map((taskId) => ({ taskId, status: '' as const, polls: 0 }));
  const found = await store.tasks.byTaskIds(asked);
  const own = new Map(found.filter((task) => task.userId === userId).map((task) => [task.taskId, task]));
  const tasks = ids.flatMap((id) => own.get(id) ?? []);
  return tasks.length === ids.length ? tasks : undefined;
}
