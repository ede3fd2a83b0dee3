import type { TaskQueue } from '../../tasks/index.ts';
import type { V1Deps } from './caller.ts';

type Waiting = Parameters<V1Deps['tasks']['queue']['find']>[0][number];

/**
 * The object of a task; while it waits with its position, and with the header by which OpenAI's
 * SDKs know when to look again.
 */
export async function withQueuePosition<T extends object>(
  { tasks }: Pick<V1Deps, 'tasks'>,
  task: Waiting,
  { object, set }: { object: T; set: { headers: Record<string, unknown> } },
): Promise<T & { queue?: TaskQueue }> {
  const queue = (await tasks.queue.find([task])).get(task.taskId);
  if (!queue) return object;
  set.headers['openai-poll-after-ms'] = String(tasks.queue.pollAfterMs(queue));
  return { ...object, queue };
}
