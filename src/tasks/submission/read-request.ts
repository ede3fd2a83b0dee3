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

/** What a request may say with a header, or else with `metadata` of its body. */
type Flag = {
  header: string;
  field: string;
  read: (request: ClientRequest) => string | null | undefined;
  refuse: typeof taskErrors.keep_result_invalid;
};

const KEEPS: Flag = {
  ...{ header: 'X-Keep-Result', field: 'keep_result', read: ({ keepResult }) => keepResult },
  refuse: taskErrors.keep_result_invalid,
};
const FALLS_BACK: Flag = {
  ...{ header: 'X-Allow-Fallback', field: 'allow_fallback', read: ({ allowFallback }) => allowFallback },
  refuse: taskErrors.allow_fallback_invalid,
};

/**
 * Whether a submission asks for its result to be kept: by the header X-Keep-Result, by
 * `metadata.keep_result` of its body, or by its API key; the first of these that says something
 * counts. Undefined: none does.
 * @throws tasks.keep_result_invalid
 */
export function requestsRetention({ request, caller }: Pick<Submission, 'request' | 'caller'>): boolean | undefined {
  return readFlag(KEEPS, request) ?? (caller.key?.keepResults || undefined);
}

/**
 * Whether another model may serve, where the group allows that: `X-Allow-Fallback`, else
 * `metadata.allow_fallback`, declines with false.
 * @throws tasks.allow_fallback_invalid
 */
export const allowsFallback = ({ request }: Pick<Submission, 'request'>): boolean =>
  readFlag(FALLS_BACK, request) ?? true;

/** The header and the field are both checked; the header counts. */
function readFlag(flag: Flag, request: ClientRequest): boolean | undefined {
  const parse = (param: string, value: Json | undefined): boolean | undefined => {
    const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
    if (word === undefined || word === null) return undefined;
    if (word === true || word === 'true') return true;
    if (word === false || word === 'false') return false;
    throw flag.refuse({ message: `${param} must be true or false.`, param });
  };
  const fromHeader = parse(flag.header, flag.read(request) ?? undefined);
  const fromBody = parse(`metadata.${flag.field}`, metadataField(request.body, flag.field));
  return fromHeader ?? fromBody;
}

/** A form has metadata as JSON in one field, or each of its entries in an own field. */
function metadataField(body: RequestBody, field: string): Json | undefined {
  if (body.kind === 'none') return undefined;
  const read = (metadata: Json | undefined) => (isObject(metadata) ? metadata[field] : undefined);
  if (body.kind === 'json') return isObject(body.value) ? read(body.value.metadata) : undefined;
  return body.fields[`metadata[${field}]`]?.[0] ?? read(parseJson(body.fields.metadata?.[0] ?? ''));
}

/**
 * Whether the request of a submission may be stored: not where its body has `store: false`, as
 * OpenAI writes it, or its API key says no. Nothing of a request overrides its key.
 */
export function mayStore({ request, caller }: Pick<Submission, 'request' | 'caller'>): boolean {
  const { body } = request;
  const asked = firstValue(body.kind === 'form' ? (body.fields.store ?? null) : readFields(request).store);
  return asked !== false && asked !== 'false' && caller.key?.storeRequests !== false;
}
