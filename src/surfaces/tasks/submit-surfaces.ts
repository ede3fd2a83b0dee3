import { restoreRequest } from '../../files/index.ts';
import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import {
  type Caller,
  type ClientRequest,
  type DecodedRequest,
  findProtocolOwners,
  readModel,
  type Submission,
  type SubmittedTask,
  submitOnce,
  submitTask,
  taskErrors,
} from '../../tasks/index.ts';
import { decodeForProtocol } from '../decode-for-protocol.ts';
import { surfaceErrors } from '../errors.ts';
import { jsonRequest, type RequestOptions } from '../json-request.ts';
import type { SurfaceDeps } from '../types.ts';

type SurfaceRequest = { caller: Caller; requestId: string; request: ClientRequest };

/** `POST /v1/tasks/:pluginKey`. Nothing is decoded: the whole body is the plugin's request body. */
export const submitGeneric = (
  deps: SurfaceDeps,
  { pluginKey, repeats, ...client }: SurfaceRequest & { pluginKey: string; repeats?: string | undefined },
): Promise<SubmittedTask> =>
  submitOnce(deps, client, async (idempotency) => {
    const { body } = client.request;
    if (body.kind === 'none') throw taskErrors.body_required();
    if (body.kind !== 'json') throw taskErrors.unsupported_media({ message: 'This route requires a JSON body.' });
    const model = readModel(client.request);
    if (model === undefined) throw taskErrors.model_required({ param: 'model' });
    return submitToPlugin(deps, {
      ...client,
      pluginKey,
      repeats,
      absent: `There is no task plugin with the key "${pluginKey.slice(0, 60)}".`,
      intent: { model, action: '', requestBody: body.value },
      idempotency,
    });
  });

/** `absent`: the message when no plugin serves under this key. */
type PluginSubmission = Omit<Submission, 'surface' | 'plugin' | 'generation'> & { pluginKey: string; absent: string };

/**
 * Submits a request that needs no decoder to the plugin that now serves under this key.
 * @throws tasks.plugin_not_found with the message `absent`, and what `submitTask` throws
 */
async function submitToPlugin(
  deps: SurfaceDeps,
  { pluginKey, absent, ...submission }: PluginSubmission,
): Promise<TaskRecord> {
  const pin = deps.pin();
  try {
    const plugin = pin.generation.plugins.get(pluginKey);
    if (!plugin) throw surfaceErrors.plugin_not_found({ message: absent });
    return await submitTask(deps, {
      ...submission,
      surface: 'generic',
      plugin,
      generation: pin.generation.number,
    });
  } finally {
    pin.release();
  }
}

/** `POST /v1/videos`, and with the task to `remix` also `POST /v1/videos/:task_id/remix`. */
type VideoRequest = SurfaceRequest & { remix?: TaskRecord };

export const submitVideo = (deps: SurfaceDeps, client: VideoRequest): Promise<SubmittedTask> =>
  submitOnce(deps, client, (idempotency) =>
    decodeVideo(deps, client, (submission) => submitTask(deps, { ...submission, idempotency })),
  );

/** Hands `use` what the plugins of the model make of a request for a video. */
export async function decodeVideo<T>(
  deps: SurfaceDeps,
  { caller, requestId, request, remix }: VideoRequest,
  use: (submission: Submission) => Promise<T>,
): Promise<T> {
  if (request.body.kind === 'none') throw taskErrors.body_required();
  if (request.body.kind !== 'json' && request.body.kind !== 'multipart') {
    throw taskErrors.unsupported_media({ message: 'This route takes a JSON or multipart/form-data body.' });
  }
  const model = remix?.properties.originModelName ?? readModel(request);
  if (model === undefined) throw taskErrors.model_required({ param: 'model' });
  const pin = deps.pin();
  try {
    const { generation } = pin;
    const owners = findProtocolOwners(deps.vendors, {
      generation,
      protocol: 'proto_video',
      model,
      group: caller.group,
    });
    if (owners.length === 0)
      throw taskErrors.model_not_found({
        message: `No plugin serves the model "${model.slice(0, 120)}" on this route.`,
        param: 'model',
      });
    const call = { protocol: 'proto_video', operation: 'create', model } as const;
    // A plugin that knows no remixes would make a video that has nothing to do with this one.
    const check = ({ originTasks }: DecodedRequest): void => {
      if (!remix || originTasks?.tasks.some(({ taskId }) => taskId === remix.taskId)) return;
      const message = `Videos of the model "${model.slice(0, 120)}" cannot be remixed.`;
      throw surfaceErrors.remix_unsupported({ message });
    };
    const decoded = await decodeForProtocol(deps, { caller, generation, owners, request, check, ...call });
    return await use({ ...decoded, requestId });
  } finally {
    pin.release();
  }
}

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
