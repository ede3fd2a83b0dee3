import { editJson, isObject, type Json, type JsonObject } from '../../kernel/index.ts';
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
  return { ...request, body: replaceMembers(body, translateVideoRequest(body.value as JsonObject)) };
}

type JsonBody = Extract<ClientRequest['body'], { kind: 'json' }>;

/** The body with these members. In its text all others stay as the client wrote them. */
function replaceMembers({ text, ...body }: JsonBody, value: JsonObject): JsonBody {
  if (text === undefined) return { ...body, value };
  const before = body.value as JsonObject;
  const changed = Object.keys({ ...before, ...value }).filter((name) => before[name] !== value[name]);
  const changes = Object.fromEntries(changed.map((name) => [name, value[name]]));
  return { ...body, value, text: editJson(text, changes) };
}

/**
 * The request with OpenAI's names for length, size and image.
 * @throws tasks.video_request_invalid
 */
export function translateVideoRequest({
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
  const { size: written, image: pictured, ...others } = fields;
  const size = readSize(written ?? (hasSize ? `${width}x${height}` : undefined));
  const listed = [images].flat().filter(isGiven).map(readImage);
  const pictures = [pictured].flat().filter(isGiven).map(readImage);
  const list = pictures.length > 1 ? pictures : listed;
  const image = pictures.length === 1 ? pictures[0] : list.length === 1 ? list[0] : undefined;
  return {
    ...others,
    ...(isGiven(seconds) ? { seconds: String(seconds) } : {}),
    ...(isGiven(size) ? nameSize(size, others) : {}),
    ...(hasSize || !isGiven(width) ? {} : { width }),
    ...(hasSize || !isGiven(height) ? {} : { height }),
    ...(isGiven(image) ? { image, input_reference: fields.input_reference ?? image } : {}),
    ...(list.length > 1 ? { images: list as Json[] } : {}),
  };
}

/** `1280*720` and `1280 × 720` are sizes of other vendors' APIs. */
const SIZE = /^(\d{1,5})\s?[x*×]\s?(\d{1,5})$/i;
/** What other APIs call a resolution, and write into the size. */
const RESOLUTION = /^(?:\d{3,4}p|[248]k)$/i;
const RATIO = /^\d{1,2}:\d{1,2}$/;

function readSize(size: Json | undefined): Json | undefined {
  const [, width, height] = typeof size === 'string' ? (SIZE.exec(size.trim()) ?? []) : [];
  return width === undefined ? size : `${width}x${height}`;
}

function nameSize(size: Json, { resolution, aspect_ratio: ratio }: JsonObject): JsonObject {
  const text = String(size).trim();
  if (RESOLUTION.test(text)) return isGiven(resolution) ? {} : { resolution: text };
  if (RATIO.test(text)) return isGiven(ratio) ? {} : { aspect_ratio: text };
  return { size };
}

/** An image as an object with its address, as in chats. */
function readImage(image: Json): Json {
  if (!isObject(image)) return image;
  const { url, image_url: address = url } = image as JsonObject;
  const inner = isObject(address) ? (address as JsonObject).url : address;
  return typeof inner === 'string' ? inner : image;
}

const isGiven = (value: Json | undefined): value is Json => value !== undefined && value !== null && value !== '';

/** Files keep their fields; texts are translated as those of JSON. */
function translateForm(fields: Record<string, string[]>): Record<string, string[]> {
  const single = Object.fromEntries(
    Object.entries(fields).map(([name, values]) => [name, values.length === 1 ? (values[0] as string) : values]),
  );
  return Object.fromEntries(
    Object.entries(translateVideoRequest(single)).map(([name, value]) => [
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

/**
 * `POST /v1/videos/edits` as the remix of the video that its body names.
 * @throws tasks.edit_invalid for a video that is sent instead of named
 */
export function readEdit(request: ClientRequest): { id: string; client: ClientRequest } {
  const { body } = request;
  if (body.kind === 'json' && isObject(body.value)) {
    const { video, ...value } = body.value as JsonObject;
    const id = isObject(video) ? video.id : video;
    return asRemix(request, id, replaceMembers(body, value));
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
    return { id, client: { ...request, path: `/v1/videos/${encodeURIComponent(id.toWellFormed())}/remix`, body } };
  throw surfaceErrors.edit_invalid({
    message: 'Name the video by its id, as {"video": {"id": "…"}}: a video that is sent cannot be edited here.',
    param: 'video',
  });
}
