import { restoreRequest } from '../../files/index.ts';
import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { type Caller, type SubmittedTask, submitOnce } from '../../tasks/index.ts';
import { surfaceErrors } from '../errors.ts';
import { jsonRequest, type RequestOptions } from '../json-request.ts';
import type { SurfaceDeps } from '../types.ts';
import { submitToPlugin } from './submit-generic.ts';

type Retry = { caller: Caller; requestId: string; task: TaskRecord; options: RequestOptions };

/**
 * Submits the request of an ended task again as a new task, at today's price.
 * @throws tasks.task_running, what `restoreRequest` throws, what a submission throws
 */
export async function retryTask(
  deps: SurfaceDeps,
  { caller, requestId, task, options }: Retry,
): Promise<SubmittedTask> {
  if (!hasEnded(task)) throw surfaceErrors.task_running();
  const { pluginKey } = task.execution;
  const { body, ...intent } = await restoreRequest(deps, task);
  const plain = await jsonRequest(`/api/task/${task.taskId}/retry`, intent.requestBody, options);
  const contentType = body.kind === 'multipart' ? 'multipart/form-data' : plain.contentType;
  const request = { ...plain, contentType, body };
  const absent = `The plugin "${pluginKey}" is no longer installed.`;
  return submitOnce(deps, { caller, request }, (idempotency) =>
    submitToPlugin(deps, {
      ...{ pluginKey, absent, caller, requestId, request, intent, idempotency },
      repeats: task.taskId,
    }),
  );
}
