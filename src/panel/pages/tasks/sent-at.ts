import type { TaskSummary } from '../../api/types.ts';

/**
 * When a task was sent, in Unix seconds. One that was refused before the vendor had it has no
 * submission time: then when it was created.
 */
export const sentAt = (task: Pick<TaskSummary, 'submit_time' | 'created_at'>): number =>
  task.submit_time > 0 ? task.submit_time : task.created_at;
