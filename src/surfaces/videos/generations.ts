import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { type ClientRequest, taskErrors } from '../../tasks/index.ts';
import { surfaceErrors } from '../errors.ts';

/**
 * `/v1/video/generations`, which most community apps speak, in terms of OpenAI's video API: other
 * names for length, size and image, and a flat answer.
 */

/**
 * The request with OpenAI's names beside its own, as plugins of both worlds read it.
 * @throws tasks.video_request_invalid
 */
export function readGeneration(request: ClientRequest): ClientRequest {
  const { body } = request;
  if (body.kind === 'none') throw taskErrors.body_required();
  if (body.kind === 'multipart') return { ...request, body: { ...body, fields: translateForm(body.fields) } };
  if (body.kind !== 'json' || !isObject(body.value)) {
    throw taskErrors.unsupported_media({ message: 'This route takes a JSON object or multipart/form-data.' });
  }
  const value = translateOrder(body.value as JsonObject);
  const { text: _, ...sent } = body;
  const text = 'text' in body ? { text: JSON.stringify(value) } : {};
  return { ...request, body: { ...sent, ...text, value } };
}

/** An order with OpenAI's names for length, size and image. @throws tasks.video_request_invalid */
export function translateOrder({
  response_format,
  n,
  duration,
  width,
  height,
  images,
  ...fields
}: JsonObject): JsonObject {
  if (Number(n ?? 1) !== 1) {
    throw surfaceErrors.video_request_invalid({ message: 'n must be 1: send one request for each video.', param: 'n' });
  }
  if (![undefined, null, '', 'url'].includes(response_format as string)) {
    const message = 'response_format must be "url": the answer has a link to the video.';
    throw surfaceErrors.video_request_invalid({ message, param: 'response_format' });
  }
  const seconds = fields.seconds ?? duration;
  const hasSize = isGiven(width) && isGiven(height);
  const size = fields.size ?? (hasSize ? `${width}x${height}` : undefined);
  const list = Array.isArray(images) ? images.filter(isGiven) : [images].filter(isGiven);
  const image = fields.image ?? (list.length === 1 ? list[0] : undefined);
  return {
    ...fields,
    ...(isGiven(seconds) ? { seconds: String(seconds) } : {}),
    ...(isGiven(size) ? { size } : {}),
    ...(hasSize || !isGiven(width) ? {} : { width }),
    ...(hasSize || !isGiven(height) ? {} : { height }),
    ...(isGiven(image) ? { image, input_reference: fields.input_reference ?? image } : {}),
    ...(list.length > 1 ? { images: list as Json[] } : {}),
  };
}

const isGiven = (value: Json | undefined): value is Json => value !== undefined && value !== null && value !== '';

/** Files keep their fields; texts are translated as those of JSON. */
function translateForm(fields: Record<string, string[]>): Record<string, string[]> {
  const single = Object.fromEntries(
    Object.entries(fields).map(([name, values]) => [name, values.length === 1 ? (values[0] as string) : values]),
  );
  return Object.fromEntries(
    Object.entries(translateOrder(single)).map(([name, value]) => [
      name,
      (Array.isArray(value) ? value : [value]).map(String),
    ]),
  );
}

/** The flat answer, made of a video in OpenAI's form. */
export function generationObject(video: JsonObject, task?: Pick<TaskRecord, 'properties'>): JsonObject {
  const asked = task?.properties.video;
  const { id, model, status, progress, created_at, seconds, size, url, error } = video;
  const metadata = isObject(video.metadata) ? (video.metadata as JsonObject) : {};
  const [, width, height] = /^(\d+)x(\d+)$/.exec(String(size ?? '')) ?? [];
  return {
    id: id ?? null,
    task_id: id ?? null,
    object: 'video',
    model: model ?? '',
    status: status ?? 'queued',
    progress: progress ?? 0,
    url: url ?? null,
    metadata: {
      duration: positive(seconds),
      fps: positive(metadata.fps ?? asked?.fps),
      width: positive(width),
      height: positive(height),
      seed: metadata.seed ?? asked?.seed ?? null,
    },
    error: error ?? null,
    created_at: created_at ?? 0,
    ...(video.cost === undefined ? {} : { cost: video.cost }),
  };
}

/** A count that is known. */
function positive(value: Json | undefined): number | null {
  const number = Number(value ?? 0);
  return Number.isFinite(number) && number > 0 ? number : null;
}
