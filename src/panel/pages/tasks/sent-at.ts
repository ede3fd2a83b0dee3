import type { TaskSummary } from '../../api/types.ts';
import { isFinished } from './is-finished.ts';

/**
 * When a task was sent, in Unix seconds. One that was refused before the vendor had it has no
 * submission time: then when it was created.
 */
export const sentAt = (task: Pick<TaskSummary, 'submit_time' | 'created_at'>): number =>
  task.submit_time > 0 ? task.submit_time : task.created_at;

/** From sending to the end, in seconds; null for a task that runs or that no vendor had. */
export const tookSeconds = (task: Pick<TaskSummary, 'status' | 'submit_time' | 'finish_time'>): number | null =>
  isFinished(task) && task.submit_time > 0 && task.finish_time > 0
    ? Math.max(0, task.finish_time - task.submit_time)
    : null;
