import type { JsonObject } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { hasEnded, taskObject } from '../state/describe-task.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { TaskDeps } from '../types.ts';
import { deadlineSignal } from './deadline-signal.ts';
import type { Observer } from './limit-observations.ts';
import { watchTask } from './watch-task.ts';

/** `data` is what `GET /v1/tasks/:id` gives at that moment. */
export type TaskEvent = { id: string; event: 'task.updated' | 'task.finished'; data: JsonObject };

/**
 * The task as it is now and after each change of its status or progress, last as it ended. Ends
 * early when the client has `left`, when the protocol timeout has passed or when the gateway stops.
 * Counts as an observation until it has ended or was returned.
 * @throws tasks.rate_limit_exceeded
 */
export function followTask(
  deps: TaskDeps,
  { taskId, platform, userId }: TaskRecord,
  keyId: Observer['keyId'],
  left: AbortSignal,
  requestId: string,
): AsyncIterableIterator<TaskEvent, undefined> {
  const exit = deps.observations.enter({ pluginKey: platform, userId, keyId });
  const told = { task_id: taskId, plugin: platform, stream: true };
  traceEvent(deps.logger, 'observation_start', requestId, told);
  const leave = () => {
    exit();
    traceEvent(deps.logger, 'observation_end', requestId, told);
  };
  const patience = deadlineSignal(deps.clock, deps.limits.submitTimeoutMs, left);
  patience.signal.addEventListener('abort', leave, { once: true });
  if (patience.signal.aborted) leave();
  const watched = watchTask(deps, taskId, patience);
  let shown = '';

  // No generator: returning one that waits would wait with it.
  return {
    async next() {
      for (;;) {
        const step = await watched.next().catch((error: unknown) => {
          patience.end();
          throw error;
        });
        if (step.done) {
          patience.end();
          return { done: true, value: undefined };
        }
        const task = step.value;
        const looks = `${task.status} ${task.progress}`;
        if (looks === shown) continue;
        shown = looks;
        const event = hasEnded(task) ? 'task.finished' : 'task.updated';
        return { done: false, value: { id: `${task.polls}-${task.status}`, event, data: taskObject(task) } };
      }
    },
    async return() {
      patience.end();
      await watched.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
