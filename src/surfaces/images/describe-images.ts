import { type JsonObject, userOwner } from '../../kernel/index.ts';
import type { Artifact } from '../../plugins/index.ts';
import { callImageRender, describeHookFailure, type LoadedPlugin, readContentRequest } from '../../plugins/index.ts';
import { type Content, projectArtifacts, requirePlugin } from '../../results/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { type ClientRequest, taskCost, taskView } from '../../tasks/index.ts';
import { fetchContent, type VendorContent } from '../../vendors/index.ts';
import { protocolCallContext } from '../decode-for-protocol.ts';
import { surfaceErrors } from '../errors.ts';
import { findRenderer } from '../find-renderer.ts';
import type { SurfaceDeps } from '../types.ts';
import type { ImageFormat, ImageOperation } from './read-image-request.ts';

/**
 * Images of one answer in Base64: they are in memory at once. Links have no such limit.
 * `chooseFormat` in `read-image-request.ts` says which models have Base64 by default.
 */
const MAX_INLINE_BYTES = 16 * 1024 * 1024;

export type Images = JsonObject & { created: number; data: JsonObject[] };
type Finished = {
  task: TaskRecord;
  format: ImageFormat;
  request: ClientRequest;
  operation: ImageOperation;
  requestId: string;
  signal: AbortSignal;
};

/**
 * The images of a task that has succeeded: as its plugin renders them, or its artifacts.
 * @throws tasks.images_missing, tasks.images_too_large, tasks.plugin_presenter_failed
 */
export async function describeImages(deps: SurfaceDeps, finished: Finished): Promise<Images> {
  const { task } = finished;
  const isClaimed = task.execution.surface === 'proto_image';
  const rendered = isClaimed ? await render(deps, finished) : undefined;
  const { data, ...others } = rendered ?? (await listImages(deps, finished));
  if (data.length === 0) {
    throw surfaceErrors.images_missing({ message: `The task ${task.taskId} has succeeded but has no image.` });
  }
  return { created: task.createdAt, ...others, id: task.taskId, data, cost: taskCost(task) };
}

const RENDER = 'protocols.proto_image.render';

/** Undefined where the plugin leaves its images to the host, which knows them as artifacts. */
async function render(deps: SurfaceDeps, finished: Finished): Promise<{ data: JsonObject[] } | undefined> {
  const { task, request, operation, format } = finished;
  const pin = deps.pin();
  try {
    const { generation } = pin;
    const plugin = (await findRenderer(generation, task, RENDER)) ?? (await requirePlugin(generation, task));
    const { originModelName: model, upstreamModelName } = task.properties;
    const mapped = upstreamModelName === model ? {} : { upstreamModel: upstreamModelName };
    const ctx = protocolCallContext({ plugin, ...mapped }, { request, protocol: 'proto_image', operation, model });
    const owner = userOwner(task.userId);
    const rendered = await callImageRender(plugin, { ctx, task: taskView(task) }, { owner });
    if (!rendered.ok) {
      const reason = describeHookFailure(rendered.error);
      deps.logger.warn({ task_id: task.taskId, reason }, 'plugin could not render images');
      throw surfaceErrors.plugin_presenter_failed({ details: { taskId: task.taskId } });
    }
    if (rendered.value === undefined) return undefined;
    const { data } = rendered.value;
    return format === 'url'
      ? rendered.value
      : { ...rendered.value, data: await encode(deps, finished, { plugin, data }) };
  } finally {
    pin.release();
  }
}

/** Adds the bytes to images that have only an address. What cannot be fetched keeps its address. */
async function encode(
  deps: SurfaceDeps,
  finished: Finished,
  { plugin, data }: { plugin: LoadedPlugin; data: readonly JsonObject[] },
): Promise<JsonObject[]> {
  if (data.every(({ b64_json }) => typeof b64_json === 'string')) return [...data];
  const { task } = finished;
  const channel = deps.vendors.channels.find(task.channelId) ?? (await deps.store.channels.byId(task.channelId));
  if (!channel) return [...data];
  const rules = { manifest: plugin.manifest, baseUrl: channel.baseUrl, method: 'GET' };
  const fetchImage = async (url: string): Promise<Pick<VendorContent, 'body'>> => {
    const described = readContentRequest({ url, credentialless: true }, rules);
    if (!described.ok) throw surfaceErrors.images_missing({ message: described.error });
    const client = { method: 'GET' as const, headers: {}, signal: finished.signal, requestId: finished.requestId };
    const onUnauthorized = () => {};
    return fetchContent(deps.vendors, { plugin, channel, described: described.value, client, onUnauthorized });
  };
  return encodeEach(deps, { task, items: data }, async (image, left) => {
    if (typeof image.b64_json === 'string') return image;
    try {
      return { ...image, b64_json: await toBase64(await fetchImage(String(image.url)), left) };
    } catch (error) {
      deps.logger.warn(
        { err: error, task_id: task.taskId },
        'image could not be fetched; the client gets its address instead',
      );
      return image;
    }
  });
}

async function listImages(deps: SurfaceDeps, finished: Finished): Promise<{ data: JsonObject[] }> {
  const { task, format } = finished;
  const pin = deps.pin();
  try {
    const artifacts = await projectArtifacts(await requirePlugin(pin.generation, task), task);
    const images = artifacts.filter(({ type }) => type === 'image');
    const hasLinks = deps.results.publicAddress() !== undefined;
    return {
      data:
        format === 'url' && hasLinks ? await linkImages(deps, task, images) : await openImages(deps, finished, images),
    };
  } finally {
    pin.release();
  }
}

async function linkImages(deps: SurfaceDeps, task: TaskRecord, images: readonly Artifact[]): Promise<JsonObject[]> {
  const linkTo = await deps.results.issueLinks(task, { base: deps.results.publicAddress() ?? '' });
  return images.map(({ key }) => ({ url: linkTo(key).url }));
}

const openImages = (
  deps: SurfaceDeps,
  { task, signal, requestId }: Finished,
  images: readonly Artifact[],
): Promise<JsonObject[]> =>
  encodeEach(deps, { task, items: images }, async ({ key }, left) => {
    const client = { method: 'GET' as const, headers: {}, signal, requestId };
    return { b64_json: await toBase64(await deps.results.open({ task, choice: { key }, client }), left) };
  });

type BytesLeft = { bytes: number };

/** One after the other, so that the limit of bytes holds for all of them. */
async function encodeEach<T>(
  deps: SurfaceDeps,
  { task: { userId }, items }: { task: TaskRecord; items: readonly T[] },
  toImage: (item: T, left: BytesLeft) => Promise<JsonObject>,
): Promise<JsonObject[]> {
  const release = deps.vendors.downloads.acquire(userId, 'download');
  const left = { bytes: MAX_INLINE_BYTES };
  try {
    const images: JsonObject[] = [];
    for (const item of items) images.push(await toImage(item, left));
    return images;
  } finally {
    release();
  }
}

/** @throws tasks.images_too_large once `left` is used up */
async function toBase64({ body }: Pick<Content, 'body'>, left: BytesLeft): Promise<string> {
  const chunks: Uint8Array[] = [];
  const source = body instanceof Blob ? body.stream() : (body ?? []);
  for await (const chunk of source instanceof Uint8Array ? [source] : source) {
    left.bytes -= chunk.byteLength;
    if (left.bytes < 0) throw surfaceErrors.images_too_large();
    // A chunk is valid until the next one is requested.
    chunks.push(chunk.slice());
  }
  return Buffer.concat(chunks).toString('base64');
}
