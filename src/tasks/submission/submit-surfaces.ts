import { isObject, userOwner } from '../../kernel/index.ts';
import { decodeProtocolRequest } from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { Caller, ClientRequest, Idempotency, Submission, TaskDeps } from '../types.ts';
import { protocolContext } from '../vendor/build-contexts.ts';
import { findOwner } from './find-owner.ts';
import { hookError } from './prepare-submission.ts';
import { resolveOriginTasks } from './resolve-origin-tasks.ts';
import { submitTask } from './submit-task.ts';

/** No decoder: the whole body is the plugin's request body, the model stands in it. */
export async function submitGeneric(
  deps: TaskDeps,
  caller: Caller,
  requestId: string,
  pluginKey: string,
  request: ClientRequest,
  idempotency: Idempotency | undefined,
): Promise<TaskRecord> {
  if (request.body.kind === 'none') throw taskErrors.body_required();
  if (request.body.kind !== 'json') throw taskErrors.unsupported_media({ message: 'This route requires a JSON body.' });
  const model = modelOf(request);
  if (model === undefined) throw taskErrors.model_required({ param: 'model' });
  return submitToPlugin(deps, pluginKey, `There is no task plugin with the key "${pluginKey.slice(0, 60)}".`, {
    caller,
    requestId,
    request,
    intent: { model, action: '', requestBody: request.body.value },
    idempotency,
  });
}

/**
 * Submits what needs no decoder to the plugin that serves under this key now. @throws
 * tasks.plugin_not_found with `absent`, what a submission throws
 */
export async function submitToPlugin(
  deps: TaskDeps,
  pluginKey: string,
  absent: string,
  submission: Omit<Submission, 'surface' | 'plugin' | 'generation'>,
): Promise<TaskRecord> {
  const pin = deps.pin();
  try {
    const plugin = pin.generation.plugins.get(pluginKey);
    if (!plugin) throw taskErrors.plugin_not_found({ message: absent });
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

export async function submitVideo(
  deps: TaskDeps,
  caller: Caller,
  requestId: string,
  request: ClientRequest,
  idempotency: Idempotency | undefined,
): Promise<TaskRecord> {
  if (request.body.kind === 'none') throw taskErrors.body_required();
  if (request.body.kind !== 'json' && request.body.kind !== 'multipart') {
    throw taskErrors.unsupported_media({ message: 'This route takes a JSON or multipart/form-data body.' });
  }
  const model = modelOf(request);
  if (model === undefined) throw taskErrors.model_required({ param: 'model' });
  const pin = deps.pin();
  try {
    const owner = findOwner(deps, pin.generation, 'proto_video', model);
    if (!owner)
      throw taskErrors.model_not_found({
        message: `No plugin serves the model "${model.slice(0, 120)}" on this route.`,
        param: 'model',
      });
    const { plugin, upstreamModel } = owner;
    const context = protocolContext(plugin.manifest, 'proto_video', request, {
      operation: 'create',
      model,
      ...(upstreamModel === undefined ? {} : { upstreamModel }),
    });
    const decoded = await decodeProtocolRequest(
      plugin,
      { protocol: 'proto_video', ctx: context },
      { owner: userOwner(caller.user.id) },
    );
    if (!decoded.ok) throw hookError(decoded.error);
    const { action = '', requestBody, originTaskIds } = decoded.value;
    const intent = { model, action, requestBody };
    return await submitTask(deps, {
      surface: 'proto_video',
      originTasks: await resolveOriginTasks(deps, caller, plugin, originTaskIds),
      caller,
      requestId,
      plugin,
      generation: pin.generation.number,
      request,
      intent,
      idempotency,
    });
  } finally {
    pin.release();
  }
}

/** The model that the body names; undefined where there is none, or no text. */
export function modelOf(request: ClientRequest): string | undefined {
  const { body } = request;
  if (body.kind === 'json') {
    const model = isObject(body.value) ? body.value.model : undefined;
    return typeof model === 'string' && model.trim() !== '' ? model : undefined;
  }
  if (body.kind === 'none') return undefined;
  const model = body.fields.model?.[0];
  return model !== undefined && model.trim() !== '' ? model : undefined;
}
