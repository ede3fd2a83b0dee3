import type { TaskRecord } from '../../store/ports/index.ts';
import {
  type Caller,
  type ClientRequest,
  readModel,
  type Submission,
  type SubmittedTask,
  submitOnce,
  submitTask,
  taskErrors,
} from '../../tasks/index.ts';
import { surfaceErrors } from '../errors.ts';
import type { SurfaceDeps } from '../types.ts';

type GenericRequest = {
  caller: Caller;
  requestId: string;
  request: ClientRequest;
  pluginKey: string;
  /** The ended task that the panel submits again. */
  repeats?: string | undefined;
  beforeOrder?: () => Promise<void>;
};

/** `POST /v1/tasks/:pluginKey`. Nothing is decoded: the whole body is the plugin's request body. */
export const submitGeneric = (
  deps: SurfaceDeps,
  { pluginKey, repeats, beforeOrder = async () => {}, ...client }: GenericRequest,
): Promise<SubmittedTask> =>
  submitOnce(deps, client, async (idempotency) => {
    const { body } = client.request;
    if (body.kind === 'none') throw taskErrors.body_required();
    if (body.kind !== 'json') throw taskErrors.unsupported_media({ message: 'This route requires a JSON body.' });
    const model = readModel(client.request);
    if (model === undefined) throw taskErrors.model_required({ param: 'model' });
    await beforeOrder();
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
export async function submitToPlugin(
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
