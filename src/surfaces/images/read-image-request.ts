import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import { readFlag } from '../../relay/index.ts';
import { resultErrors } from '../../results/index.ts';
import { type ClientRequest, readModel, taskErrors } from '../../tasks/index.ts';
import { surfaceErrors } from '../errors.ts';

export type ImageOperation = 'generate' | 'edit';
const FORMATS = ['url', 'b64_json'] as const;
export type ImageFormat = (typeof FORMATS)[number];

export type ImageRequest = {
  model: string;
  /** Undefined: the client named none. */
  format: ImageFormat | undefined;
  stream: boolean;
  background: boolean;
  /** The request without what the gateway does itself: streaming and running in background. */
  request: ClientRequest;
  /** The members of a JSON body for a plugin that decodes no images. */
  plainBody: Json;
};

/**
 * Reads a request for images. An edit may be a form.
 * @throws tasks.body_required, tasks.unsupported_media, tasks.model_required,
 * tasks.image_request_invalid
 */
export function readImageRequest(request: ClientRequest, operation: ImageOperation): ImageRequest {
  const { body } = request;
  if (body.kind === 'none') throw taskErrors.body_required();
  if (body.kind !== 'json' && (operation !== 'edit' || body.kind !== 'multipart')) {
    const message =
      operation === 'edit'
        ? 'This route takes a JSON or multipart/form-data body.'
        : 'This route requires a JSON body.';
    throw taskErrors.unsupported_media({ message });
  }
  const model = readModel(request);
  if (model === undefined || (body.kind === 'json' && !isObject(body.value))) {
    throw taskErrors.model_required({ param: 'model' });
  }
  const fields = body.kind === 'multipart' ? readForm(body.fields) : (body.value as JsonObject);
  const format = fields.response_format ?? undefined;
  if (format !== undefined && !FORMATS.includes(format as ImageFormat)) {
    const message = `response_format is one of ${FORMATS.join(', ')}.`;
    throw surfaceErrors.image_request_invalid({ message, param: 'response_format' });
  }
  const stream = readFlag(fields, 'stream', surfaceErrors.image_request_invalid);
  // OpenAI's `background` is a text, which says what is behind a picture.
  const isFlag = typeof fields.background === 'boolean';
  const own = ['stream', 'partial_images', ...(isFlag ? ['background'] : [])];
  const without = <T extends object>(members: T): T =>
    Object.fromEntries(Object.entries(members).filter(([name]) => !own.includes(name))) as T;
  const visible =
    body.kind === 'multipart'
      ? { ...body, fields: without(body.fields) }
      : { ...body, value: without(body.value as JsonObject) };
  const { response_format: _, ...plainBody } = without(fields);
  return {
    ...{ model, stream, plainBody, format: format as ImageFormat | undefined },
    background: fields.background === true,
    request: { ...request, body: visible },
  };
}

/** Clients of these models expect bytes: OpenAI has no addresses for them. */
const ALWAYS_BYTES = /(?:^|\/)(?:chat)?gpt-image/;

/**
 * `hasLinks`: the images have addresses. `describe-images.ts` says how many bytes an answer may
 * have.
 * @throws tasks.artifact_url_error where the request asks for addresses and there are none
 */
export function chooseFormat(
  { format, model }: Pick<ImageRequest, 'format' | 'model'>,
  hasLinks: boolean,
): ImageFormat {
  const chosen = format ?? (hasLinks && !ALWAYS_BYTES.test(model) ? 'url' : 'b64_json');
  if (chosen === 'url' && !hasLinks) throw resultErrors.artifact_url_error();
  return chosen;
}

/** The first value of each field of a form, with flags as booleans. */
const readForm = (fields: Readonly<Record<string, readonly string[]>>): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).map(([name, [value = '']]) => {
      const isFlag = ['stream', 'background'].includes(name) && (value === 'true' || value === 'false');
      return [name, isFlag ? value === 'true' : value];
    }),
  );
