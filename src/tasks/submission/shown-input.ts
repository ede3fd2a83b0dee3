import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { ClientRequest, Submission } from '../types.ts';

const MAX_INPUT = 2000;

/** The prompt for people: that of the decoded request, else that of the client's own. */
export const shownInput = ({ intent, request }: Submission): string =>
  inputOf(intent.requestBody) || inputOf({ prompt: firstValue(readFields(request).prompt) });

/** The members of a JSON body or the fields of a form. */
export function readFields({ body }: Pick<ClientRequest, 'body'>): JsonObject {
  const fields = body.kind === 'multipart' ? body.fields : body.kind === 'json' ? body.value : undefined;
  return isObject(fields) ? (fields as JsonObject) : {};
}

/** The value of a field, the first where a form repeats it. */
export const firstValue = (value: Json | undefined): Json => (Array.isArray(value) ? value[0] : value) ?? null;

/** A short human-readable input for lists: the prompt, if the body has one. */
function inputOf(body: Json | undefined): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return '';
  for (const name of ['prompt', 'input', 'text', 'description']) {
    const value = body[name];
    if (typeof value === 'string') return [...value].slice(0, MAX_INPUT).join('');
  }
  return '';
}
