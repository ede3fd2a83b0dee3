import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import { cancelTask } from './cancel-task.ts';
import { hasEnded } from './describe-task.ts';
import { ownTask } from './own-tasks.ts';

/**
 * Deletes a user's own task for them: it is hidden on every surface, its links end, and its content
 * (prompt, request, the vendor's answer) is gone. Its row, bill and usage stay. A running task is
 * cancelled first.
 * @throws tasks.task_not_found, tasks.cancel_unsupported when it runs and cannot be cancelled
 */
export async function deleteTask(deps: TaskDeps, userId: number, taskId: string): Promise<void> {
  const task = await ownTask(deps, userId, taskId);
  if (!task) throw taskErrors.task_not_found();
  const ended = hasEnded(task) ? task : await cancelOrReadEnded(deps, task);
  const { request: _request, response: _response, result: _result, inputs: _inputs, ...execution } = ended.execution;
  const { video: _video, ...properties } = ended.properties;
  const hidden = await deps.store.transaction(async (tx) => {
    if (!(await tx.tasks.hide({ ...ended, execution, properties: { ...properties, input: '' } }))) return false;
    await tx.results.forget(taskId);
    return true;
  });
  // Another request deleted it first.
  if (!hidden) throw taskErrors.task_not_found();
}

/** The task may end by itself before it is cancelled. */
async function cancelOrReadEnded(deps: TaskDeps, task: TaskRecord): Promise<TaskRecord> {
  try {
    return await cancelTask(deps, task);
  } catch (error) {
    const current = await ownTask(deps, task.userId, task.taskId);
    if (current && hasEnded(current)) return current;
    throw error;
  }
}
