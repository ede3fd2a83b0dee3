import type { Quote } from '../../billing/index.ts';
import { AppError, isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { LoadedPlugin } from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import {
  type Caller,
  type ClientRequest,
  type DecodedRequest,
  findProtocolOwners,
  forbidUnsafeRetry,
  type ProtocolOwner,
  type Submission,
  type SubmissionState,
  submitOnce,
  submitTask,
  taskErrors,
} from '../../tasks/index.ts';
import { answerBy, awaitEnd } from '../await-end.ts';
import { decodeForProtocol } from '../decode-for-protocol.ts';
import { surfaceErrors } from '../errors.ts';
import { findArtifactPlugin, mayMakeImages, type WantedPlugin } from '../find-artifact-plugin.ts';
import { quoteSubmission } from '../quote-task.ts';
import { type NamedImage, refuseDroppedImages } from '../refuse-dropped-images.ts';
import type { SurfaceDeps } from '../types.ts';
import { describeImages, type Images } from './describe-images.ts';
import {
  chooseFormat,
  type ImageFormat,
  type ImageOperation,
  type ImageRequest,
  readImageRequest,
} from './read-image-request.ts';

export type ImageCreation = {
  requestId: string;
  request: ClientRequest;
  operation: ImageOperation;
  /** The client prefers to follow the task itself. */
  isAsync: boolean;
};

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
 * `POST /v1/images/generations` and `POST /v1/images/edits` for a plugin's model: submits, waits
 * for the end and answers with the images. A plugin that claims `proto_image` decodes the request
 * and renders them. To any other plugin the body of a generation goes as on
 * `POST /v1/tasks/:pluginKey`, and its artifacts that are images are the answer. When the client
 * leaves, the task goes on.
 * @throws tasks.image_request_invalid, tasks.rate_limit_exceeded before anything is submitted,
 * tasks.image_failed, tasks.task_timeout, tasks.images_missing, tasks.images_too_large after it
 */
export const createImages = (deps: SurfaceDeps, creation: ImageCreation & { caller: Caller }): Promise<ImagesAnswer> =>
  forbidUnsafeRetry((state) => createAndAnswer(deps, creation, state));

async function createAndAnswer(
  deps: SurfaceDeps,
  { caller, requestId, request: sent, operation, isAsync }: ImageCreation & { caller: Caller },
  state: SubmissionState,
): Promise<ImagesAnswer> {
  const untilMs = answerBy(deps, sent);
  const read = readImageRequest(sent, operation);
  const { model, request } = read;
  const pin = deps.pin();
  const held = [() => pin.release()];
  try {
    const { generation } = pin;
    const maker = findImageMaker(deps.vendors, { generation, model, group: caller.group }, operation);
    if (!maker) throw taskErrors.model_not_found({ param: 'model' });
    // Images that a plugin renders have the vendor's addresses.
    const hasLinks = maker.owners !== undefined || deps.results.publicAddress() !== undefined;
    const format = chooseFormat(read, hasLinks);
    const observer = { pluginKey: maker.plugin.key, userId: caller.user.id, keyId: caller.key?.id ?? null };
    // Requests that wait in the queue do not count.
    const onWaiting = deps.node.limiters.observations.acquire(observer);
    held.push(onWaiting);
    const followsItself = isAsync || read.background;
    const attachedUntilMs = followsItself ? undefined : untilMs;
    const created = await submitOnce(deps, { caller, request, attachedUntilMs }, async (idempotency) => {
      const submission = await decodeImages(deps, { caller, requestId, generation, maker, read, operation });
      return submitTask(deps, { ...submission, idempotency, attachedUntilMs, onWaiting });
    });
    const { replayed } = created;
    if (followsItself) return { kind: 'task', replayed, task: created };
    state.vendorMayHaveJob = !replayed;
    const wait: Wait = { created, untilMs, request, operation, format, requestId };
    if (read.stream) {
      // Its client has an answer from now on, and waits for as long as a stream lasts.
      wait.untilMs = deps.clock.monotonicMs() + deps.limits.submitTimeoutMs;
      return { kind: 'events', replayed, events: streamImages(deps, wait, releaseOnLeave(request, held.splice(0))) };
    }
    return { kind: 'images', replayed, images: await waitForImages(deps, wait) };
  } finally {
    for (const release of held) release();
  }
}

type Decoding = Pick<ImageCreation, 'requestId' | 'operation'> & {
  caller: Caller;
  generation: WantedPlugin['generation'];
  maker: Maker;
  read: ImageRequest;
};

/** What the plugins of the model make of a request for images. */
async function decodeImages(
  deps: SurfaceDeps,
  { caller, requestId, generation, maker, read, operation }: Decoding,
): Promise<Submission> {
  const { request, model } = read;
  const { owners, plugin } = maker;
  if (owners) {
    const call = { caller, generation, owners, request, model, protocol: 'proto_image', operation } as const;
    const images = listImages(request);
    const check = (decoded: DecodedRequest) => refuseDroppedImages(decoded, images);
    return { ...(await decodeForProtocol(deps, { ...call, check })), requestId };
  }
  return {
    ...{ surface: 'generic', plugin, generation: generation.number, caller, request, requestId },
    intent: { model, action: '', requestBody: read.plainBody },
  };
}

/** The images that a JSON request names. Files of a form are checked where they are sent. */
function listImages({ body }: ClientRequest): NamedImage[] {
  const fields = body.kind === 'json' && isObject(body.value) ? (body.value as JsonObject) : {};
  // Forms of the panel have the number of images in `images`.
  const isImage = (image: Json): boolean => isObject(image) || (typeof image === 'string' && image !== '');
  return ['image', 'images', 'mask'].flatMap((param) =>
    [fields[param] ?? []]
      .flat()
      .filter(isImage)
      .map((image) => ({ image, param })),
  );
}

/** The quota that a request for images would reserve. @throws the error that would refuse it */
export async function quoteImages(
  deps: SurfaceDeps,
  { caller, requestId, request: sent }: { caller: Caller; requestId: string; request: ClientRequest },
): Promise<Quote> {
  const operation = 'generate';
  const read = readImageRequest(sent, operation);
  const pin = deps.pin();
  try {
    const { generation } = pin;
    const maker = findImageMaker(deps.vendors, { generation, model: read.model, group: caller.group }, operation);
    if (!maker) throw taskErrors.model_not_found({ param: 'model' });
    const submission = await decodeImages(deps, { caller, requestId, generation, maker, read, operation });
    return await quoteSubmission(deps, submission);
  } finally {
    pin.release();
  }
}

type Maker = { plugin: LoadedPlugin; hasChannel: boolean; owners?: readonly ProtocolOwner[] };

/**
 * The plugin that makes the images of a model: one that claims them, else one whose artifacts may
 * be images.
 */
export function findImageMaker(
  vendors: SurfaceDeps['vendors'],
  wanted: WantedPlugin,
  operation: ImageOperation,
): Maker | undefined {
  const owners = findProtocolOwners(vendors, { ...wanted, protocol: 'proto_image' });
  const [owner] = owners;
  if (owner) return { plugin: owner.plugin, hasChannel: owner.hasChannel, owners };
  // A plugin that does not know of edits might make an image that has nothing to do with this one.
  return operation === 'edit' ? undefined : findArtifactPlugin(vendors, wanted, mayMakeImages);
}

type Wait = {
  created: TaskRecord;
  untilMs: number;
  request: ClientRequest;
  operation: ImageOperation;
  format: ImageFormat;
  requestId: string;
};

const { image_failed: failed, image_not_ready, task_timeout } = surfaceErrors;

async function waitForImages(deps: SurfaceDeps, { created, untilMs, request, ...answer }: Wait): Promise<Images> {
  const signal = request.signal ?? new AbortController().signal;
  const notReady = created.execution.surface === 'proto_image' ? task_timeout : image_not_ready;
  const task = await awaitEnd(deps, { created, untilMs, left: signal, faults: { failed, notReady } });
  return describeImages(deps, { task, request, signal, ...answer });
}

/**
 * Frees what a stream holds, once: at its end, or when its client leaves. A stream that its client
 * left before it began never ends.
 */
function releaseOnLeave({ signal }: ClientRequest, held: (() => void)[]): () => void {
  const release = () => {
    for (const free of held.splice(0)) free();
  };
  if (signal?.aborted) release();
  else signal?.addEventListener('abort', release, { once: true });
  return release;
}

/**
 * The images as OpenAI's last events, one for each. Plugins have no partial images. `release` frees
 * what the wait holds.
 */
async function* streamImages(deps: SurfaceDeps, wait: Wait, release: () => void): AsyncGenerator<ImageEvent> {
  const event = wait.operation === 'edit' ? 'image_edit.completed' : 'image_generation.completed';
  try {
    const { data, created, ...shared } = await waitForImages(deps, { ...wait, format: 'b64_json' });
    for (const image of data) yield { event, data: { type: event, created_at: created, ...shared, ...image } };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message } = error;
    const said = { type: 'error', code: code.replace(/^tasks\./, ''), message, param: null };
    yield { event: 'error', data: { type: 'error', error: said } };
  } finally {
    release();
  }
}
