import { isObject } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import {
  type Caller,
  type ClientRequest,
  type DecodedRequest,
  findProtocolOwners,
  readFields,
  readModel,
  type Submission,
  type SubmittedTask,
  submitOnce,
  submitTask,
  taskErrors,
} from '../../tasks/index.ts';
import { decodeForProtocol } from '../decode-for-protocol.ts';
import { surfaceErrors } from '../errors.ts';
import type { SurfaceDeps } from '../types.ts';

/** `POST /v1/videos`, and with the task to `remix` also `POST /v1/videos/:task_id/remix`. */
type VideoRequest = { caller: Caller; requestId: string; request: ClientRequest; remix?: TaskRecord };

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
  refuseUnknownFile(request);
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

/**
 * No plugin knows the files of OpenAI's API, and without its image the video would be another one.
 * @throws tasks.video_request_invalid
 */
function refuseUnknownFile({ body }: ClientRequest): void {
  const { input_reference: reference = null, ...fields } = readFields({ body });
  const named = isObject(reference) ? reference.file_id : fields['input_reference[file_id]'];
  if (named === undefined || named === null) return;
  const message = 'No file is known by its file_id here: send the image itself, or its address as image_url.';
  throw surfaceErrors.video_request_invalid({ message, param: 'input_reference' });
}
