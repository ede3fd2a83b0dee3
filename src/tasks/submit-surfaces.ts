import { mapModel } from '../channels/index.ts';
import { isObject } from '../kernel/index.ts';
import { decodeProtocolRequest, type Generation, type LoadedPlugin } from '../plugins/index.ts';
import type { TaskRecord } from '../store/ports/index.ts';
import { videoContext } from './build-contexts.ts';
import { taskErrors } from './errors.ts';
import { hookError } from './prepare-submission.ts';
import { submitTask } from './submit-task.ts';
import type { Caller, ClientRequest, TaskDeps } from './types.ts';

/** No decoder: the whole body is the plugin's request body, the model stands in it. */
export async function submitGeneric(
  deps: TaskDeps,
  caller: Caller,
  requestId: string,
  pluginKey: string,
  request: ClientRequest,
): Promise<TaskRecord> {
  if (request.body.kind === 'none') throw taskErrors.body_required();
  if (request.body.kind !== 'json') throw taskErrors.unsupported_media({ message: 'This route requires a JSON body.' });
  const model = modelOf(request);
  if (model === undefined) throw taskErrors.model_required({ param: 'model' });
  const pin = deps.pin();
  try {
    const plugin = pin.generation.plugins.get(pluginKey);
    if (!plugin)
      throw taskErrors.plugin_not_found({
        message: `There is no task plugin with the key "${pluginKey.slice(0, 60)}".`,
      });
    const intent = { model, action: '', requestBody: request.body.value };
    return await submitTask(deps, {
      surface: 'generic',
      caller,
      requestId,
      plugin,
      generation: pin.generation.number,
      request,
      intent,
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
): Promise<TaskRecord> {
  if (request.body.kind === 'none') throw taskErrors.body_required();
  if (request.body.kind !== 'json' && request.body.kind !== 'multipart') {
    throw taskErrors.unsupported_media({ message: 'This route takes a JSON or multipart/form-data body.' });
  }
  const model = modelOf(request);
  if (model === undefined) throw taskErrors.model_required({ param: 'model' });
  const pin = deps.pin();
  try {
    const owner = videoOwner(deps, pin.generation, model);
    if (!owner)
      throw taskErrors.model_not_found({
        message: `No plugin serves the model "${model.slice(0, 120)}" on this route.`,
        param: 'model',
      });
    const { plugin } = owner;
    const context = videoContext(plugin.manifest, request, 'create', model);
    const decoded = await decodeProtocolRequest(plugin, 'proto_video', context);
    if (!decoded.ok) throw hookError(decoded.error);
    const { action = '', requestBody } = decoded.value;
    const intent = { model, action, requestBody };
    return await submitTask(deps, {
      surface: 'proto_video',
      caller,
      requestId,
      plugin,
      generation: pin.generation.number,
      request,
      intent,
    });
  } finally {
    pin.release();
  }
}

/** By claim, else by an enabled channel that lists the name and maps it into a plugin's claimed models. */
function videoOwner(deps: TaskDeps, generation: Generation, model: string): { plugin: LoadedPlugin } | undefined {
  const claimed = generation.protocolOwner('proto_video', model);
  if (claimed) return claimed;
  for (const channel of deps.channels.known()) {
    if (channel.status !== 1 || !channel.models.includes(model)) continue;
    const plugin = channel.taskPluginKey
      ? generation.plugins.get(channel.taskPluginKey)
      : generation.byChannelType(channel.type);
    const claim = plugin?.manifest.protocols.find(({ name }) => name === 'proto_video');
    if (plugin && claim?.models.includes(mapModel(channel.modelMapping, model))) return { plugin };
  }
  return undefined;
}

function modelOf(request: ClientRequest): string | undefined {
  const { body } = request;
  if (body.kind === 'json') {
    const model = isObject(body.value) ? body.value.model : undefined;
    return typeof model === 'string' && model.trim() !== '' ? model : undefined;
  }
  if (body.kind === 'none') return undefined;
  const model = body.fields.model?.[0];
  return model !== undefined && model.trim() !== '' ? model : undefined;
}
