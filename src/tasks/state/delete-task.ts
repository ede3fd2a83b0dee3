import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import { cancelTask } from './cancel-task.ts';
import { findOwnTask } from './find-own-tasks.ts';

/**
 * Deletes a user's own task for them: it is hidden on every surface, its links end, and its content
 * (prompt, request, the vendor's answer) is gone. Its row, bill and usage stay. A running task is
 * cancelled first. Returns it as it was.
 * @throws tasks.task_not_found, tasks.cancel_unsupported when it runs and cannot be cancelled
 */
export async function deleteTask(deps: TaskDeps, userId: number, taskId: string): Promise<TaskRecord> {
  const task = await findOwnTask(deps, userId, taskId);
  if (!task) throw taskErrors.task_not_found();
  const ended = hasEnded(task) ? task : await cancelOrReadEnded(deps, task);
  // Another request may have deleted it first.
  if (!(await hideTask(deps, ended))) throw taskErrors.task_not_found();
  return ended;
}

/**
 * Hides an ended task and removes its content. `retained`: false for one whose client got all of it
 * in the answer; later tasks may still build on it.
 */
export function hideTask(deps: TaskDeps, ended: TaskRecord, { retained = true } = {}): Promise<boolean> {
  const { request: _request, response: _response, result: _result, inputs: _inputs, ...kept } = ended.execution;
  const execution = retained ? kept : { ...kept, retained };
  const { video: _video, ...properties } = ended.properties;
  return deps.store.transaction(async (tx) => {
    if (!(await tx.tasks.hide({ ...ended, execution, properties: { ...properties, input: '' } }))) return false;
    await tx.results.forget(ended.taskId);
    return true;
  });
}

/** The task may end on its own before it is cancelled. */
async function cancelOrReadEnded(deps: TaskDeps, task: TaskRecord): Promise<TaskRecord> {
  try {
    return await cancelTask(deps, task);
  } catch (error) {
    const current = await findOwnTask(deps, task.userId, task.taskId);
    if (current && hasEnded(current)) return current;
    throw error;
  }
}
