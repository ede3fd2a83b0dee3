import type { RequestBody } from '../../files/index.ts';
import { isObject, type Json, parseJson } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';
import type { Submission } from '../types.ts';

const HEADER = 'X-Keep-Result';
const FIELD = 'metadata.keep_result';

/**
 * Whether a submission asks for its result to be kept: by the header X-Keep-Result, by
 * `metadata.keep_result` of its body, or by its API key; the first of these that says something
 * counts. Undefined: none does.
 * @throws tasks.keep_result_invalid
 */
export function asksToKeep({ request, caller }: Pick<Submission, 'request' | 'caller'>): boolean | undefined {
  const fromHeader = readFlag(HEADER, request.keepResult ?? undefined);
  const fromBody = readFlag(FIELD, keepField(request.body));
  return fromHeader ?? fromBody ?? (caller.key?.keepResults || undefined);
}

/** A form has metadata as JSON in one field, or each of its entries in an own field. */
function keepField(body: RequestBody): Json | undefined {
  if (body.kind === 'none') return undefined;
  if (body.kind === 'json') return isObject(body.value) ? entryOf(body.value.metadata) : undefined;
  const { metadata, 'metadata[keep_result]': entry } = body.fields;
  return entry?.[0] ?? entryOf(parseJson(metadata?.[0] ?? ''));
}

const entryOf = (metadata: Json | undefined): Json | undefined =>
  isObject(metadata) ? metadata.keep_result : undefined;

function readFlag(param: string, value: Json | undefined): boolean | undefined {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (word === undefined || word === null) return undefined;
  if (word === true || word === 'true') return true;
  if (word === false || word === 'false') return false;
  throw taskErrors.keep_result_invalid({ message: `${param} must be true or false.`, param });
}
