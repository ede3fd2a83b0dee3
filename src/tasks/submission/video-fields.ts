import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { TaskProperties } from '../../store/ports/index.ts';
import type { Submission } from '../types.ts';
import { inputOf } from './prepare-submission.ts';

/** Longer values are none that a video object could show. */
const MAX_LENGTH = 32;

/** What the request of a video asked for: its object shows it before a plugin has rendered it. */
export function videoFields(submission: Submission): Pick<TaskProperties, 'video'> {
  if (submission.surface !== 'proto_video') return {};
  const { seconds, size } = fieldsOf(submission);
  const remixed = submission.originTasks?.tasks[0]?.taskId;
  const video = {
    ...shown('seconds', seconds),
    ...shown('size', size),
    ...(remixed === undefined ? {} : { remixed_from_video_id: remixed }),
  };
  return Object.keys(video).length === 0 ? {} : { video };
}

/** The prompt for people: that of the decoded request, else that of the client's own. */
export const shownInput = (submission: Submission): string =>
  inputOf(submission.intent.requestBody) || inputOf({ prompt: first(fieldsOf(submission).prompt) });

function fieldsOf({ request: { body } }: Submission): JsonObject {
  const fields = body.kind === 'multipart' ? body.fields : body.kind === 'json' ? body.value : undefined;
  return isObject(fields) ? (fields as JsonObject) : {};
}

/** A form may repeat a field. */
const first = (value: Json | undefined): Json => (Array.isArray(value) ? value[0] : value) ?? null;

function shown<Name extends string>(name: Name, value: Json | undefined): { [name in Name]?: string } {
  const single = first(value);
  const text = typeof single === 'number' ? String(single) : single;
  if (typeof text !== 'string' || text === '' || text.length > MAX_LENGTH) return {};
  return { [name]: text } as { [name in Name]?: string };
}
