import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { type SubmittedTask, submitOnce } from '../idempotency/submit-once.ts';
import { hasEnded } from '../state/describe-task.ts';
import type { Caller, TaskDeps } from '../types.ts';
import { jsonRequest, type RequestOptions } from './json-request.ts';
import { submitToPlugin } from './submit-surfaces.ts';

/**
 * Submits what an ended task was asked for as a new one, at today's price.
 * @throws tasks.task_running, tasks.request_not_kept, what a submission throws
 */
export function retryTask(
  deps: TaskDeps,
  caller: Caller,
  requestId: string,
  task: TaskRecord,
  manner: RequestOptions,
): Promise<SubmittedTask> {
  if (!hasEnded(task)) throw taskErrors.task_running();
  const { request: kept, pluginKey } = task.execution;
  if (!kept) throw taskErrors.request_not_kept();
  const request = jsonRequest(`/api/task/${task.taskId}/retry`, kept.body, manner);
  const intent = { model: kept.model, action: kept.action, requestBody: kept.body };
  const absent = `The plugin "${pluginKey}" is not installed any more.`;
  return submitOnce(deps, caller, request, (idempotency) =>
    submitToPlugin(deps, pluginKey, absent, { caller, requestId, request, intent, idempotency }),
  );
}
