import { deadlineSignal, type JsonObject } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { hasEnded, taskObject } from '../state/describe-task.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { Observer } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';
import { watchTask } from './watch-task.ts';

/** `data` is what `GET /v1/tasks/:id` returns at that moment. */
export type TaskEvent = { id: string; event: 'task.updated' | 'task.finished'; data: JsonObject };

type Following = { task: TaskRecord; keyId: Observer['keyId']; left: AbortSignal; requestId: string };

/**
 * Yields the task as it is now, then after each change of its status or progress; the ended task
 * comes last. Ends early when the client has `left`, at the protocol timeout, or when the gateway
 * stops. Counts as an observation until it has ended or was returned.
 * @throws tasks.rate_limit_exceeded
 */
export function followTask(
  deps: TaskDeps,
  { task: { taskId, platform, userId }, keyId, left, requestId }: Following,
): AsyncIterableIterator<TaskEvent, undefined> {
  const release = deps.node.observations.acquire({ pluginKey: platform, userId, keyId });
  const logFields = { request_id: requestId, task_id: taskId, plugin: platform, stream: true };
  traceEvent(deps.logger, 'observation_start', logFields);
  const leave = () => {
    release();
    traceEvent(deps.logger, 'observation_end', logFields);
  };
  const deadline = deadlineSignal(deps.clock, deps.limits.submitTimeoutMs, left);
  deadline.signal.addEventListener('abort', leave, { once: true });
  if (deadline.signal.aborted) leave();
  const watched = watchTask(deps.node, taskId, deadline);
  let lastSent = '';

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
        const task = step.value;
        const state = `${task.status} ${task.progress}`;
        if (state === lastSent) continue;
        lastSent = state;
        const event = hasEnded(task) ? 'task.finished' : 'task.updated';
        return { done: false, value: { id: `${task.polls}-${task.status}`, event, data: taskObject(task) } };
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
