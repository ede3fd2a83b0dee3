import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { type SubmittedTask, submitOnce } from '../idempotency/submit-once.ts';
import { hasEnded } from '../state/describe-task.ts';
import type { Caller, TaskDeps } from '../types.ts';
import { jsonRequest, type RequestOptions } from './json-request.ts';
import { submitToPlugin } from './submit-surfaces.ts';

type Retry = { caller: Caller; requestId: string; task: TaskRecord; options: RequestOptions };

/**
 * Submits the request of an ended task again as a new task, at today's price.
 * @throws tasks.task_running, tasks.request_not_kept, what a submission throws
 */
export async function retryTask(deps: TaskDeps, { caller, requestId, task, options }: Retry): Promise<SubmittedTask> {
  if (!hasEnded(task)) throw taskErrors.task_running();
  const { request: stored, pluginKey } = task.execution;
  if (!stored) throw taskErrors.request_not_kept();
  const request = await jsonRequest(`/api/task/${task.taskId}/retry`, stored.body, options);
  const intent = { model: stored.model, action: stored.action, requestBody: stored.body };
  const absent = `The plugin "${pluginKey}" is not installed any more.`;
  return submitOnce(deps, { caller, request }, (idempotency) =>
    submitToPlugin(deps, { pluginKey, absent, caller, requestId, request, intent, idempotency }),
  );
}
