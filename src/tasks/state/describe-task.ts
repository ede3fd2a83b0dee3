import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { TaskView } from '../../plugins/index.ts';
import type { TaskRecord, TaskShown, TaskStatus, TaskSummary } from '../../store/ports/index.ts';

/** What plugins and clients see of a task. */
export type ShownTask = Omit<TaskShown, 'propertiesJson' | 'dataJson'> & Pick<TaskRecord, 'properties' | 'data'>;

/** Clients see NOT_START as QUEUED. */
export const publicStatus = (status: TaskStatus): TaskStatus => (status === 'NOT_START' ? 'QUEUED' : status);

export const hasEnded = ({ status }: { status: TaskStatus }): boolean => status === 'SUCCESS' || status === 'FAILURE';

/** The answer to a generic submission and to `GET /v1/tasks/:id`. */
export function taskObject(task: TaskSummary) {
  return {
    id: task.taskId,
    task_id: task.taskId,
    object: 'task' as const,
    platform: task.platform,
    model: task.properties.originModelName,
    action: task.action,
    status: publicStatus(task.status),
    progress: task.progress,
    fail_reason: task.failReason,
    created_at: task.createdAt,
    finished_at: task.finishTime,
  };
}

/** The answer to a generic submission. */
export const submittedObject = (task: TaskRecord): JsonObject => ({
  id: task.taskId,
  task_id: task.taskId,
  status: 'queued',
  model: task.properties.originModelName,
  created_at: task.createdAt,
});

/** The task as presenters and renderers see it: the public task id replaces the vendor's. */
export function taskView(task: ShownTask): TaskView {
  const { originModelName, upstreamModelName, input } = task.properties;
  return {
    task_id: task.taskId,
    platform: task.platform,
    model: originModelName,
    status: publicStatus(task.status),
    progress: task.progress,
    fail_reason: task.failReason,
    created_at: task.createdAt || task.submitTime,
    updated_at: task.updatedAt,
    finished_at: task.finishTime,
    data: replacePrivateIds(task.data, task.upstreamTaskId, task.taskId),
    properties: { origin_model_name: originModelName, upstream_model_name: upstreamModelName, input },
  };
}

const ID_FIELDS = new Set(['id', 'task_id', 'taskId']);

/**
 * Replaces the vendor's id, text or number, by the public one in id fields at any depth; other
 * texts stay. What needs no change is not copied.
 */
export function replacePrivateIds(value: Json, privateId: string, publicId: string): Json {
  if (privateId === '' || privateId === publicId || value === null || typeof value !== 'object') return value;
  const isList = Array.isArray(value);
  let changed: [string, Json][] | undefined;
  const members = Object.entries(value);
  for (const [at, [key, child]] of members.entries()) {
    const isPrivate = child === privateId || (typeof child === 'number' && String(child) === privateId);
    const isId = !isList && isPrivate && ID_FIELDS.has(key);
    const replaced = isId ? publicId : replacePrivateIds(child, privateId, publicId);
    if (replaced === child) continue;
    changed ??= [...members];
    changed[at] = [key, replaced];
  }
  if (changed === undefined) return value;
  return isList ? changed.map(([, child]) => child) : Object.fromEntries(changed);
}

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

/** The gateway's own video object: identity, status and times. */
export function videoObject(task: Omit<TaskSummary, 'action'>): JsonObject {
  return {
    id: task.taskId,
    object: 'video',
    model: task.properties.originModelName,
    status: VIDEO_STATUS[task.status],
    progress: percent(task.progress),
    created_at: task.createdAt,
    ...task.properties.video,
    ...(task.properties.input === '' ? {} : { prompt: task.properties.input }),
    ...(task.finishTime > 0 ? { completed_at: task.finishTime } : {}),
    ...(task.status === 'FAILURE'
      ? { error: { code: 'task_failed', message: task.failReason || 'The task failed.' } }
      : {}),
  };
}

const isText = (value: Json | undefined): value is string => typeof value === 'string' && value !== '';

/**
 * The plugin's rendering as a standard video object. Identity, status and times are the gateway's.
 * From the renderer come the standard's other members, each only in the type that clients expect;
 * all else is left out.
 */
export function renderedVideo(task: ShownTask, rendered: JsonObject): JsonObject {
  const { seconds, size, remixed_from_video_id, error, metadata } = rendered;
  const own = videoObject(task);
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

/** Removes vendor URLs at any depth: clients download the content through this gateway. */
function withoutUrls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutUrls);
  if (!isObject(value)) return value;
  const entries = Object.entries(value as JsonObject).filter(([name]) => name.toLowerCase() !== 'url');
  return Object.fromEntries(entries.map(([name, member]) => [name, withoutUrls(member)]));
}
