import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { TaskProperties, TaskStatus, TaskSummary } from '../../store/ports/index.ts';
import type { ShownTask } from '../../tasks/index.ts';
import { firstValue, readFields, type Submission } from '../../tasks/index.ts';

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

/** Longer values are none that a video object could show. */
const MAX_LENGTH = 32;

/** What the request of a video asked for: its object shows it before a plugin has rendered it. */
export function videoFields(submission: Pick<Submission, 'request' | 'originTasks'>): Pick<TaskProperties, 'video'> {
  const { seconds, size } = readFields(submission.request);
  const remixed = submission.originTasks?.tasks[0]?.taskId;
  const video = {
    ...shown('seconds', seconds),
    ...shown('size', size),
    ...(remixed === undefined ? {} : { remixed_from_video_id: remixed }),
  };
  return Object.keys(video).length === 0 ? {} : { video };
}

function shown<Name extends string>(name: Name, value: Json | undefined): { [name in Name]?: string } {
  const single = firstValue(value);
  const text = typeof single === 'number' ? String(single) : single;
  if (typeof text !== 'string' || text === '' || text.length > MAX_LENGTH) return {};
  return { [name]: text } as { [name in Name]?: string };
}
