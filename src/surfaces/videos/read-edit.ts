import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import { type ClientRequest, taskErrors } from '../../tasks/index.ts';
import { surfaceErrors } from '../errors.ts';

/**
 * `POST /v1/videos/edits` as the remix of the video that its body names.
 * @throws tasks.edit_invalid for a video that is sent instead of named
 */
export function readEdit(request: ClientRequest): { id: string; client: ClientRequest } {
  const { body } = request;
  if (body.kind === 'json' && isObject(body.value)) {
    const { video, ...value } = body.value as JsonObject;
    const id = isObject(video) ? video.id : video;
    const { text: _, ...sent } = body;
    const text = 'text' in body ? { text: JSON.stringify(value) } : {};
    return asRemix(request, id, { ...sent, ...text, value });
  }
  if (body.kind === 'multipart') {
    const { video, 'video[id]': named, ...fields } = body.fields;
    return asRemix(request, (named ?? video)?.[0], { ...body, fields });
  }
  throw taskErrors.unsupported_media({ message: 'This route takes a JSON object or multipart/form-data.' });
}

/** Plugins know a remix by its path. */
function asRemix(request: ClientRequest, id: Json | undefined, body: ClientRequest['body']) {
  if (typeof id === 'string' && id !== '')
    return { id, client: { ...request, path: `/v1/videos/${encodeURIComponent(id)}/remix`, body } };
  throw surfaceErrors.edit_invalid({
    message: 'Name the video by its id, as {"video": {"id": "…"}}: a video that is sent cannot be edited here.',
    param: 'video',
  });
}
