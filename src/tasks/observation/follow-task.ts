import { deadlineSignal, type JsonObject } from '../../kernel/index.ts';
import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { taskObject } from '../state/describe-task.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { Observer } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';
import type { QueuePositions } from '../waiting/queue-positions.ts';
import { observeTask } from './limit-observations.ts';
import { watchTask } from './watch-task.ts';

/** `data` is what `GET /v1/tasks/:id` returns at that moment. */
export type TaskEvent = { id: string; event: 'task.updated' | 'task.finished'; data: JsonObject };

type Following = { task: TaskRecord; keyId: Observer['keyId']; left: AbortSignal; requestId: string };

/**
 * Yields the task as it is now, then after each change of its status or progress; the ended task
 * comes last. Ends early when the client has `left`, at the protocol timeout, or when the gateway
 * stops. Counts as an observation from the moment in which the task waits no longer; where there is
 * no room for it then, it ends early too.
 * @throws tasks.rate_limit_exceeded
 */
export function followTask(
  deps: TaskDeps & { queue: Pick<QueuePositions, 'find'> },
  { task, keyId, left, requestId }: Following,
): AsyncIterableIterator<TaskEvent, undefined> {
  const { taskId, platform, userId } = task;
  const observation = observeTask(deps.node.limiters.observations, { pluginKey: platform, userId, keyId });
  observation.see(task);
  const logFields = { request_id: requestId, task_id: taskId, plugin: platform, stream: true };
  traceEvent(deps.logger, 'observation_start', logFields);
  const leave = () => {
    observation.end();
    traceEvent(deps.logger, 'observation_end', logFields);
  };
  const deadline = deadlineSignal(deps.clock, deps.limits.submitTimeoutMs, left);
  deadline.signal.addEventListener('abort', leave, { once: true });
  if (deadline.signal.aborted) leave();
  const watched = watchTask(deps.node, taskId, deadline);
  let lastSent = '';

  function hasRoom(seen: TaskRecord): boolean {
    try {
      observation.see(seen);
      return true;
    } catch {
      deadline.end();
      return false;
    }
  }

  // Not a generator: `return` on a waiting generator would wait as well.
  return {
    async next() {
      for (;;) {
        const step = await watched.next().catch((error: unknown) => {
          deadline.end();
          throw error;
        });
        if (step.done) {
          deadline.end();
          return { done: true, value: undefined };
        }
        const seen = step.value;
        const state = `${seen.status} ${seen.progress}`;
        if (state === lastSent) continue;
        if (!hasRoom(seen)) return { done: true, value: undefined };
        lastSent = state;
        const event = hasEnded(seen) ? 'task.finished' : 'task.updated';
        const queue = (await deps.queue.find([seen])).get(taskId);
        const data = { ...taskObject(seen), ...(queue && { queue }) };
        return { done: false, value: { id: `${seen.polls}-${seen.status}`, event, data } };
      }
    },
    async return() {
      deadline.end();
      await watched.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
