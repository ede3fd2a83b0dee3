import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { TaskStatus } from '../../store/ports/index.ts';
import { type DescribedTask, type ShownTask, showRequestedModel, taskCost } from '../../tasks/index.ts';

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
