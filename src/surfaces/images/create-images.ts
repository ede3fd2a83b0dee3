import { mapModel } from '../../channels/index.ts';
import { AppError, isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { Artifact } from '../../plugins/index.ts';
import { findDriver, type Generation, type LoadedPlugin } from '../../plugins/index.ts';
import type { Relay } from '../../relay/index.ts';
import { readFlag } from '../../relay/index.ts';
import { type Content, projectArtifacts, requirePlugin, resultErrors } from '../../results/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import {
  adviseOnFailure,
  type Caller,
  type ClientRequest,
  type Doubt,
  readModel,
  submitOnce,
  submitTask,
  taskCost,
  taskErrors,
} from '../../tasks/index.ts';
import { awaitEnd } from '../await-end.ts';
import { surfaceErrors } from '../errors.ts';
import type { SurfaceDeps } from '../types.ts';

/** Images of one answer in Base64: they are in memory at once. Links have no such limit. */
const MAX_INLINE_BYTES = 16 * 1024 * 1024;

const FORMATS = ['url', 'b64_json'] as const;
type Format = (typeof FORMATS)[number];

type Creation = { caller: Caller; requestId: string; request: ClientRequest; isAsync: boolean };

/** `replayed`: it answers an earlier request with the same Idempotency-Key. */
type Replayed = { replayed: boolean };

/**
 * What the client chose: to wait for the images, to get them as the last event of a stream, or to
 * follow the task by itself.
 */
export type ImagesAnswer =
  | (Replayed & { kind: 'images'; images: JsonObject })
  | (Replayed & { kind: 'events'; events: AsyncIterable<ImageEvent> })
  | (Replayed & { kind: 'task'; task: TaskRecord });

export type ImageEvent = { event: string; data: JsonObject };

/**
 * `POST /v1/images/generations` for a plugin's model: submits, waits for the end and answers with
 * the artifacts that are images. The body reaches the plugin as on `POST /v1/tasks/:pluginKey`, but
 * for `response_format`, `stream` and a `background` that is a flag. When the client leaves, the
 * task goes on. `isAsync`: the client prefers to follow the task itself.
 * @throws tasks.image_request_invalid, tasks.rate_limit_exceeded before anything is submitted,
 * tasks.image_failed, tasks.image_not_ready, tasks.images_missing, tasks.images_too_large after it
 */
export const createImages = (deps: SurfaceDeps, creation: Creation): Promise<ImagesAnswer> =>
  adviseOnFailure((doubt) => createAndAnswer(deps, creation, doubt));

async function createAndAnswer(
  deps: SurfaceDeps,
  { caller, requestId, request, isAsync }: Creation,
  doubt: Doubt,
): Promise<ImagesAnswer> {
  const { model, format, body, ...wanted } = readRequest(deps, request);
  const pin = deps.pin();
  const held = [() => pin.release()];
  try {
    const { generation } = pin;
    const found = findImagePlugin(deps.vendors, { generation, model, group: caller.group });
    if (!found) throw taskErrors.model_not_found({ param: 'model' });
    const { plugin } = found;
    held.push(
      deps.node.observations.acquire({ pluginKey: plugin.key, userId: caller.user.id, keyId: caller.key?.id ?? null }),
    );
    const intent = { model, action: '', requestBody: body };
    const attachedMs = isAsync || wanted.background ? undefined : deps.limits.submitTimeoutMs;
    const created = await submitOnce(deps, { caller, request, attachedMs }, (idempotency) =>
      submitTask(deps, {
        ...{ surface: 'generic', plugin, generation: generation.number },
        ...{ caller, requestId, request, intent, idempotency, attachedMs },
      }),
    );
    const { replayed } = created;
    if (isAsync || wanted.background) return { kind: 'task', replayed, task: created };
    doubt.vendorMayHaveJob = !replayed;
    const signal = request.signal ?? new AbortController().signal;
    const wait = { created, format, requestId, signal };
    if (wanted.stream) {
      const releases = held.splice(0);
      return { kind: 'events', replayed, events: streamImages(deps, wait, releases) };
    }
    return { kind: 'images', replayed, images: await waitForImages(deps, wait) };
  } finally {
    for (const release of held) release();
  }
}

type Images = JsonObject & { created: number; data: JsonObject[] };
type Wait = { created: TaskRecord; format: Format; requestId: string; signal: AbortSignal };

async function waitForImages(deps: SurfaceDeps, { created, ...client }: Wait): Promise<Images> {
  return describeImages(deps, {
    ...client,
    task: await awaitEnd(deps, { created, left: client.signal, faults: FAULTS }),
  });
}

/**
 * The images as OpenAI's last events, one for each. Plugins have no partial images. `releases` free
 * what the wait holds.
 */
async function* streamImages(
  deps: SurfaceDeps,
  wait: Wait,
  releases: readonly (() => void)[],
): AsyncGenerator<ImageEvent> {
  const event = 'image_generation.completed';
  try {
    const { data, created, ...shared } = await waitForImages(deps, { ...wait, format: 'b64_json' });
    for (const image of data) yield { event, data: { type: event, created_at: created, ...shared, ...image } };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message } = error;
    const said = { type: 'error', code: code.replace(/^tasks\./, ''), message, param: null };
    yield { event: 'error', data: { type: 'error', error: said } };
  } finally {
    for (const release of releases) release();
  }
}

/** Clients of these models expect bytes: OpenAI has no addresses for them. */
const ALWAYS_BYTES = /(?:^|\/)(?:chat)?gpt-image/;

type ImagesRequest = { model: string; format: Format; body: Json; stream: boolean; background: boolean };

/** @throws tasks.body_required, tasks.unsupported_media, tasks.model_required */
function readRequest(deps: SurfaceDeps, request: ClientRequest): ImagesRequest {
  const { body } = request;
  if (body.kind === 'none') throw taskErrors.body_required();
  if (body.kind !== 'json') throw taskErrors.unsupported_media({ message: 'This route requires a JSON body.' });
  const model = readModel(request);
  if (model === undefined || !isObject(body.value)) throw taskErrors.model_required({ param: 'model' });
  const { response_format: wanted, stream: _, partial_images: __, background, ...visible } = body.value as JsonObject;
  const stream = readFlag(body.value, 'stream', surfaceErrors.image_request_invalid);
  // OpenAI's `background` is a text, which says what is behind a picture.
  const isFlag = typeof background === 'boolean';
  if (background !== undefined && !isFlag) visible.background = background;
  const hasLinks = deps.results.publicAddress() !== undefined;
  const usual = hasLinks && !ALWAYS_BYTES.test(model) ? 'url' : 'b64_json';
  const format = wanted ?? usual;
  if (!FORMATS.includes(format as Format)) {
    const message = `response_format is one of ${FORMATS.join(', ')}.`;
    throw surfaceErrors.image_request_invalid({ message, param: 'response_format' });
  }
  if (format === 'url' && !hasLinks) throw resultErrors.artifact_url_error();
  return { model, format: format as Format, body: visible, stream, background: background === true };
}

const FAULTS = { failed: surfaceErrors.image_failed, notReady: surfaceErrors.image_not_ready };

type Finished = { task: TaskRecord; format: Format; requestId: string; signal: AbortSignal };

async function describeImages(deps: SurfaceDeps, { task, format, ...client }: Finished): Promise<Images> {
  const pin = deps.pin();
  try {
    const artifacts = await projectArtifacts(await requirePlugin(pin.generation, task), task);
    const images = artifacts.filter(({ type }) => type === 'image');
    if (images.length === 0) {
      throw surfaceErrors.images_missing({ message: `The task ${task.taskId} has succeeded but has no image.` });
    }
    const data =
      format === 'url' ? await linkImages(deps, task, images) : await encodeImages(deps, { task, images, ...client });
    return { id: task.taskId, created: task.createdAt, data, cost: taskCost(task) };
  } finally {
    pin.release();
  }
}

async function linkImages(deps: SurfaceDeps, task: TaskRecord, images: readonly Artifact[]): Promise<JsonObject[]> {
  const linkTo = await deps.results.issueLinks(task, { base: deps.results.publicAddress() ?? '' });
  return images.map(({ key }) => ({ url: linkTo(key).url }));
}

type Inline = Omit<Finished, 'format'> & { images: readonly Artifact[] };

async function encodeImages(deps: SurfaceDeps, { task, images, requestId, signal }: Inline): Promise<JsonObject[]> {
  const release = deps.vendors.downloads.acquire(task.userId, 'download');
  const left = { bytes: MAX_INLINE_BYTES };
  try {
    const data: JsonObject[] = [];
    // One after the other: so the limit holds for all of them.
    for (const { key } of images) {
      const { body } = await deps.results.open({
        task,
        choice: { key },
        client: { method: 'GET', headers: {}, signal, requestId },
      });
      data.push({ b64_json: (await collect(body, left)).toString('base64') });
    }
    return data;
  } finally {
    release();
  }
}

/** @throws tasks.images_too_large once `left` is used up */
async function collect(body: Content['body'], left: { bytes: number }): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const source = body instanceof Blob ? body.stream() : (body ?? []);
  for await (const chunk of source instanceof Uint8Array ? [source] : source) {
    left.bytes -= chunk.byteLength;
    if (left.bytes < 0) throw surfaceErrors.images_too_large();
    // A chunk is valid until the next one is requested.
    chunks.push(chunk.slice());
  }
  return Buffer.concat(chunks);
}

/**
 * The plugin that serves a model on `POST /v1/images/generations`: that of an enabled channel which
 * lists the model, if it has artifacts and does not make videos of this model. One with a channel
 * of the group goes before the others, which `hasChannel` tells apart. Undefined: none.
 */
export function findImagePlugin(
  { channels }: Pick<SurfaceDeps['vendors'], 'channels'>,
  { generation, model, group }: { generation: Generation; model: string; group: string },
): { plugin: LoadedPlugin; hasChannel: boolean } | undefined {
  let other: LoadedPlugin | undefined;
  for (const channel of channels.known()) {
    if (channel.status !== STATUS.enabled || !channel.models.includes(model)) continue;
    const plugin = findDriver(generation, channel);
    if (!plugin?.manifest.hasArtifacts) continue;
    const upstreamModel = mapModel(channel.modelMapping, model);
    const makesVideos = plugin.manifest.protocols.some(
      ({ name, models }) => name === 'proto_video' && (models.includes(model) || models.includes(upstreamModel)),
    );
    if (makesVideos) continue;
    if (channel.groups.includes(group)) return { plugin, hasChannel: true };
    other ??= plugin;
  }
  return other && { plugin: other, hasChannel: false };
}

/**
 * Whether a plugin serves the model to the caller on `POST /v1/images/generations`. One that has no
 * channel for them leaves the model to a relay that has.
 */
export function makesImages(
  deps: Pick<SurfaceDeps, 'vendors' | 'pin'> & { relay: Pick<Relay, 'serves'> },
  caller: Caller,
  model: string,
): boolean {
  const pin = deps.pin();
  try {
    const found = findImagePlugin(deps.vendors, { generation: pin.generation, model, group: caller.group });
    return found !== undefined && (found.hasChannel || !deps.relay.serves(caller, model));
  } finally {
    pin.release();
  }
}
