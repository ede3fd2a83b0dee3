import { firstCharacters, isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';
import type { ClientRequest, Submission } from '../types.ts';

/** The model as the body names it, not trimmed. Empty when it is missing or not a text. */
export function requestedModel({ body }: Pick<ClientRequest, 'body'>): string {
  if (body.kind === 'none') return '';
  if (body.kind !== 'json') return body.fields.model?.[0] ?? '';
  const model = isObject(body.value) ? body.value.model : undefined;
  return typeof model === 'string' ? model : '';
}

/**
 * The model that the body names; undefined when it names none or a blank one.
 * @throws tasks.model_required for a form that names several: plugin and vendor could take another
 */
export function readModel(request: ClientRequest): string | undefined {
  const { body } = request;
  const isSeveral =
    (body.kind === 'form' || body.kind === 'multipart') &&
    ((body.fields.model?.length ?? 0) > 1 || (body.kind === 'multipart' && body.files.some(isModel)));
  if (isSeveral)
    throw taskErrors.model_required({ message: 'The form must have model once, as a string.', param: 'model' });
  const model = requestedModel(request);
  return model.trim() === '' ? undefined : model;
}

const isModel = ({ field }: { field: string }): boolean => field === 'model';

const MAX_INPUT = 2000;

/** The prompt for people: that of the decoded request, else that of the client's own. */
export const shownInput = ({ intent, request }: Submission): string =>
  readPrompt(intent.requestBody) || readPrompt({ prompt: firstValue(readFields(request).prompt) });

/** The members of a JSON body or the fields of a form. */
export function readFields({ body }: Pick<ClientRequest, 'body'>): JsonObject {
  const fields = body.kind === 'multipart' ? body.fields : body.kind === 'json' ? body.value : undefined;
  return isObject(fields) ? (fields as JsonObject) : {};
}

/** The value of a field, the first where a form repeats it. */
export const firstValue = (value: Json | undefined): Json => (Array.isArray(value) ? value[0] : value) ?? null;

/** A short human-readable input for lists: the prompt, if the body has one. */
function readPrompt(body: Json | undefined): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return '';
  for (const name of ['prompt', 'input', 'text', 'description']) {
    const value = body[name];
    if (typeof value === 'string') return firstCharacters(value, MAX_INPUT);
  }
  return '';
}
