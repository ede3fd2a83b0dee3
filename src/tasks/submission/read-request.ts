import type { RequestBody } from '../../files/index.ts';
import { isObject, type Json, type JsonObject, parseJson } from '../../kernel/index.ts';
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
    throw taskErrors.model_required({ message: 'The form must have model once, as a text.', param: 'model' });
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
    if (typeof value === 'string') return [...value].slice(0, MAX_INPUT).join('');
  }
  return '';
}

const HEADER = 'X-Keep-Result';
const FIELD = 'metadata.keep_result';

/**
 * Whether a submission asks for its result to be kept: by the header X-Keep-Result, by
 * `metadata.keep_result` of its body, or by its API key; the first of these that says something
 * counts. Undefined: none does.
 * @throws tasks.keep_result_invalid
 */
export function requestsRetention({ request, caller }: Pick<Submission, 'request' | 'caller'>): boolean | undefined {
  const fromHeader = readFlag(HEADER, request.keepResult ?? undefined);
  const fromBody = readFlag(FIELD, keepField(request.body));
  return fromHeader ?? fromBody ?? (caller.key?.keepResults || undefined);
}

/** A form has metadata as JSON in one field, or each of its entries in an own field. */
function keepField(body: RequestBody): Json | undefined {
  if (body.kind === 'none') return undefined;
  if (body.kind === 'json') return isObject(body.value) ? readKeepResult(body.value.metadata) : undefined;
  const { metadata, 'metadata[keep_result]': entry } = body.fields;
  return entry?.[0] ?? readKeepResult(parseJson(metadata?.[0] ?? ''));
}

const readKeepResult = (metadata: Json | undefined): Json | undefined =>
  isObject(metadata) ? metadata.keep_result : undefined;

function readFlag(param: string, value: Json | undefined): boolean | undefined {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (word === undefined || word === null) return undefined;
  if (word === true || word === 'true') return true;
  if (word === false || word === 'false') return false;
  throw taskErrors.keep_result_invalid({ message: `${param} must be true or false.`, param });
}
