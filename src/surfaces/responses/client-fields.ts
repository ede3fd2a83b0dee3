import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { TaskExecution } from '../../store/ports/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';

/** OpenAI's limits of metadata. */
export const MAX_METADATA = 16;
const MAX_METADATA_KEY = 64;
const MAX_METADATA_VALUE = 512;
/** Longer values are not stored with the task, whose row is always read whole. */
const MAX_USER = 256;
const MAX_TEXT = 32 * 1024;

type ClientFields = NonNullable<TaskExecution['response']>;

/** What the client said of a response beside its task: its object repeats it, and input items. */
export function responseFields({ body }: Pick<ClientRequest, 'body'>): Pick<TaskExecution, 'response'> {
  if (body.kind !== 'json' || !isObject(body.value)) return {};
  const { metadata, instructions, user, input } = body.value as JsonObject;
  // Files were taken out of the body; tokens stand for them.
  const isKept = input !== undefined && !body.extracted && JSON.stringify(input).length <= MAX_TEXT;
  const response: ClientFields = {
    ...(isObject(metadata) ? { metadata: validMetadata(metadata as JsonObject, MAX_METADATA) } : {}),
    ...(isText(instructions, MAX_TEXT) ? { instructions } : {}),
    ...(isText(user, MAX_USER) ? { user } : {}),
    ...(isKept ? { input } : {}),
  };
  return Object.keys(response).length === 0 ? {} : { response };
}

const isText = (value: Json | undefined, max: number): value is string =>
  typeof value === 'string' && value.length <= max;

/** At most `limit` entries within OpenAI's limits, the first by name; others are left out. */
export function validMetadata(given: JsonObject, limit: number): Record<string, string> {
  const entries = Object.entries(given).filter(
    (entry): entry is [string, string] => entry[0].length <= MAX_METADATA_KEY && isText(entry[1], MAX_METADATA_VALUE),
  );
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.slice(0, limit));
}
