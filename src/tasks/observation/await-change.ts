import { deadlineSignal } from '../../kernel/index.ts';
import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { publicStatus } from '../state/describe-task.ts';
import type { Observer } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';
import { observeTask } from './limit-observations.ts';
import { watchTask } from './watch-task.ts';

/** `ms`: the longest wait. `left` is aborted when the client has left. */
type Waiting = { task: TaskRecord; observer: Pick<Observer, 'userId' | 'keyId'>; ms: number; left: AbortSignal };

/**
 * Waits until clients see another status than that of `task`, and returns the task as it is then,
 * or as it is when the time is over. Counts as an observation, unless the task waits; all that
 * watch a task share its reads.
 * @throws tasks.rate_limit_exceeded
 */
export async function awaitChange(deps: TaskDeps, { task, observer, ms, left }: Waiting): Promise<TaskRecord> {
  if (hasEnded(task)) return task;
  const observation = observeTask(deps.node.observations, { ...observer, pluginKey: task.platform });
  observation.see(task);
  const deadline = deadlineSignal(deps.clock, ms, left);
  let latest = task;
  try {
    for await (const seen of watchTask(deps.node, task.taskId, deadline)) {
      latest = seen;
      if (publicStatus(seen.status) !== publicStatus(task.status)) break;
    }
    return latest;
  } finally {
    deadline.end();
    observation.end();
  }
}
