import { isObject, type Json, type JsonObject, userOwner } from '../../kernel/index.ts';
import { callVideoRender, describeHookFailure } from '../../plugins/index.ts';
import type { LinkVideo } from '../../results/index.ts';
import type { TaskProperties, TaskShown, TaskStatus } from '../../store/ports/index.ts';
import {
  type ClientRequest,
  type DescribedTask,
  findOwnTaskToRender,
  type ShownTask,
  showRequestedModel,
  taskCost,
  taskErrors,
  taskView,
} from '../../tasks/index.ts';
import { protocolContext } from '../../vendors/index.ts';
import { findRenderer } from '../find-renderer.ts';
import type { SurfaceDeps } from '../types.ts';
import type { RenderedVideoCache } from './rendered-video-cache.ts';

type VideoDeps = Pick<SurfaceDeps, 'store' | 'pin' | 'logger' | 'results'>;

/** A request without a body. `read` is called only where more than its address is needed. */
export type VideoRequest = { taskId: string; url: string; read: () => Promise<ClientRequest> };

/**
 * Renders the user's own video as JSON, again only if the task, the plugins, the address or the
 * link differ from those of the last rendering.
 * @throws tasks.task_not_found
 */
export async function renderOwnVideo(
  deps: VideoDeps & { rendered: RenderedVideoCache },
  userId: number,
  { taskId, url, read }: VideoRequest,
): Promise<{ task: TaskShown; json: string }> {
  const task = await findOwnTaskToRender(deps, userId, taskId);
  if (!task) throw taskErrors.task_not_found();
  const pin = deps.pin();
  try {
    const link = await linkVideo(deps, task);
    const origin = { generation: pin.generation.number, url, link };
    const kept = deps.rendered.find(task, origin);
    if (kept !== undefined) return { task, json: kept };
    const { video, varies } = await render(deps, pin.generation, {
      task: parseShown(task),
      link,
      request: await read(),
    });
    const json = JSON.stringify(video);
    if (!varies) deps.rendered.keep(task, origin, json);
    return { task, json };
  } finally {
    pin.release();
  }
}

/** Renders a video as the gateway's object with the plugin's additions. */
export async function renderVideo(deps: VideoDeps, task: ShownTask, request: ClientRequest): Promise<JsonObject> {
  const pin = deps.pin();
  try {
    return (await render(deps, pin.generation, { task, link: await linkVideo(deps, task), request })).video;
  } finally {
    pin.release();
  }
}

/** Describes the user's own videos without their plugins, each with the link to its content. */
export async function describeVideos(
  { results }: Pick<SurfaceDeps, 'results'>,
  userId: number,
): Promise<(task: DescribedTask) => JsonObject> {
  const link = await results.linkVideos(userId);
  return (task) => videoObject({ task, link: link(task) });
}

type Generation = ReturnType<SurfaceDeps['pin']>['generation'];

/** The link to a task's video; undefined while there is none. */
const linkVideo = async ({ results }: Pick<VideoDeps, 'results'>, task: Pick<ShownTask, 'userId'> & LinkedTask) =>
  task.status === 'SUCCESS' ? (await results.linkVideos(task.userId))(task) : undefined;

type LinkedTask = Parameters<LinkVideo>[0];

/** `varies`: a later request may be answered differently. */
async function render(
  { logger }: Pick<VideoDeps, 'logger'>,
  generation: Generation,
  { task, link, request }: { task: ShownTask; link: string | undefined; request: ClientRequest },
): Promise<{ video: JsonObject; varies: boolean }> {
  const shown = { task, link };
  // The hook would look for an answer that is no longer kept.
  if (task.properties.expired) return { video: videoObject(shown), varies: false };
  const plugin = await findRenderer(generation, task, 'protocols.proto_video.render');
  // The task's own version may be unavailable for now.
  if (!plugin) return { video: videoObject(shown), varies: true };
  if (!plugin.has('protocols.proto_video.render')) return { video: videoObject(shown), varies: false };
  let varies = false;
  const model = task.properties.originModelName;
  const { manifest } = plugin;
  const ctx = protocolContext(request, { manifest, protocol: 'proto_video', operation: 'retrieve', model });
  const rendered = await callVideoRender(
    plugin,
    { ctx, task: taskView(task) },
    {
      owner: userOwner(task.userId),
      onVarying: () => {
        varies = true;
      },
    },
  );
  if (rendered.ok) return { video: renderedVideo(shown, rendered.value), varies };
  // Retrieval always works: without a rendering, only the plugin's additions are missing.
  const reason = describeHookFailure(rendered.error);
  logger.warn({ task_id: task.taskId, reason }, 'plugin could not render a video');
  return { video: videoObject(shown), varies: true };
}

const parseShown = ({ propertiesJson, dataJson, ...task }: TaskShown): ShownTask => ({
  ...task,
  properties: JSON.parse(propertiesJson) as TaskProperties,
  data: dataJson === null ? null : (JSON.parse(dataJson) as Json),
});

const VIDEO_STATUS: Record<TaskStatus, string> = {
  NOT_START: 'queued',
  SUBMITTED: 'queued',
  QUEUED: 'queued',
  IN_PROGRESS: 'in_progress',
  SUCCESS: 'completed',
  FAILURE: 'failed',
};

/** "42%" → 42, limited to 0…100; 0 for anything that is not a number. */
const percent = (progress: string): number => {
  const value = Number.parseInt(progress, 10);
  return Number.isFinite(value) ? Math.min(Math.max(value, 0), 100) : 0;
};

/** A task with the link to its video, which needs no key; undefined while there is none. */
export type LinkedVideo = { task: DescribedTask; link: string | undefined };

/**
 * The gateway's own video object. Clients that check answers need every member of OpenAI's: without
 * them they would fail after the purchase. Length and size of "0" are not known.
 */
export function videoObject({ task, link }: LinkedVideo): JsonObject {
  const failed = task.status === 'FAILURE';
  const { fps: _, seed: __, ...asked } = task.properties.video ?? {};
  return {
    id: task.taskId,
    object: 'video',
    model: task.properties.originModelName,
    ...showRequestedModel(task),
    status: VIDEO_STATUS[task.status],
    progress: percent(task.progress),
    created_at: task.createdAt,
    completed_at: task.finishTime > 0 ? task.finishTime : null,
    expires_at: null,
    seconds: '0',
    size: '0x0',
    remixed_from_video_id: null,
    ...asked,
    ...(task.properties.input === '' ? {} : { prompt: task.properties.input }),
    error: failed ? { code: 'task_failed', message: task.failReason || 'The task failed.' } : null,
    cost: taskCost(task),
    ...(link === undefined ? {} : { content_url: link, url: link }),
  };
}

const isText = (value: Json | undefined): value is string => typeof value === 'string' && value !== '';

/**
 * The plugin's rendering as a standard video object. Identity, status and times are the gateway's.
 * From the renderer come the standard's other members, each only in the type that clients expect;
 * all else is left out.
 */
export function renderedVideo(video: { task: ShownTask; link: string | undefined }, rendered: JsonObject): JsonObject {
  const { seconds, size, remixed_from_video_id, error, metadata } = rendered;
  const own = videoObject(video);
  const out: JsonObject = { ...own };
  if (typeof seconds === 'number' || isText(seconds)) out.seconds = String(seconds);
  if (isText(size)) out.size = size;
  if (isText(remixed_from_video_id)) out.remixed_from_video_id = remixed_from_video_id;
  // A plugin may word a failure in its own way, but cannot add an error to a task that has none.
  if (isObject(own.error) && isObject(error)) {
    const { code, message } = error;
    out.error = { ...own.error, ...(isText(code) ? { code } : {}), ...(isText(message) ? { message } : {}) };
  }
  if (isObject(metadata)) {
    const shown = withoutUrls(metadata as JsonObject) as JsonObject;
    if (Object.keys(shown).length > 0) out.metadata = shown;
  }
  return out;
}

/** An address, whatever its member is called. */
const ADDRESS = /^\s*(?:https?:)?\/\//i;
const isAddress = (value: Json): boolean => typeof value === 'string' && ADDRESS.test(value);

/** Removes vendor URLs at any depth: clients download the content through this gateway. */
function withoutUrls(value: Json): Json {
  if (Array.isArray(value)) return value.filter((member) => !isAddress(member)).map(withoutUrls);
  if (!isObject(value)) return value;
  const entries = Object.entries(value as JsonObject).filter(
    ([name, member]) => name.toLowerCase() !== 'url' && !isAddress(member),
  );
  return Object.fromEntries(entries.map(([name, member]) => [name, withoutUrls(member)]));
}
