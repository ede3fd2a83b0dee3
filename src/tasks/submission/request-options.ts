import type { RequestBody } from '../../files/index.ts';
import { isObject, type Json, parseJson } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';
import type { ClientRequest, Submission } from '../types.ts';
import { firstValue, readFields } from './read-request.ts';

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

/** An answer that is not to be stored stays this long after the end, for its client to read. */
export const UNSTORED_SECONDS = 3600;

/**
 * Whether the request of a submission may be stored: not where its body has `store: false`, as
 * OpenAI writes it, or its API key says no. Nothing of a request overrides its key.
 */
export function mayStore({ request, caller }: Pick<Submission, 'request' | 'caller'>): boolean {
  const { body } = request;
  const asked = firstValue(body.kind === 'form' ? (body.fields.store ?? null) : readFields(request).store);
  return asked !== false && asked !== 'false' && caller.key?.storeRequests !== false;
}
