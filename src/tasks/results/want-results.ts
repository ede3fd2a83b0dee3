import type { Json } from '../../kernel/index.ts';
import { isObject, parseJson } from '../../kernel/index.ts';
import type { Repositories, TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { RequestBody, Submission, TaskDeps } from '../types.ts';

/** How long a result is tried to be kept: vendors drop their links earlier. */
export const KEEP_TRIES_MS = 7 * 24 * 3_600_000;

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

/**
 * Orders the results of a task that has just succeeded to be kept, in the transaction that ends it.
 * Its artifacts are listed later, since that takes its plugin.
 */
export async function wantResults(
  { results, clock }: Pick<TaskDeps, 'results' | 'clock'>,
  tx: Pick<Repositories, 'results'>,
  { taskId, userId, properties }: Pick<TaskRecord, 'taskId' | 'userId' | 'properties'>,
): Promise<boolean> {
  const { keep } = results.settings();
  const isWanted = keep === 'all' ? properties.keep !== false : keep === 'asked' && properties.keep === true;
  if (!isWanted) return false;
  const everything = { taskId, userId, artifactKey: '', kind: '', createdAt: clock.unix() };
  await tx.results.want([everything], KEEP_TRIES_MS);
  return true;
}
