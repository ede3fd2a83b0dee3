import type { Json } from '../../kernel/index.ts';
import { isObject } from '../../kernel/index.ts';
import type { Repositories, TaskRecord } from '../../store/ports/index.ts';
import type { Submission, TaskDeps } from '../types.ts';

/** How long a result is tried to be kept: vendors drop their links earlier. */
export const KEEP_TRIES_MS = 7 * 24 * 3_600_000;

/**
 * Whether a submission asks for its result to be kept: by the header X-Keep-Result, by
 * `metadata.keep_result` of its body, or by its API key; the first of these that says something
 * counts. Undefined: none does.
 */
export function asksToKeep({ request, caller }: Pick<Submission, 'request' | 'caller'>): boolean | undefined {
  const fromHeader = readFlag(request.keepResult ?? undefined);
  const fromBody = request.body.kind === 'json' ? readFlag(metadataOf(request.body.value)) : undefined;
  return fromHeader ?? fromBody ?? (caller.key?.keepResults || undefined);
}

const metadataOf = (body: Json): Json | undefined =>
  isObject(body) && isObject(body.metadata) ? body.metadata.keep_result : undefined;

function readFlag(value: Json | undefined): boolean | undefined {
  const word = typeof value === 'string' ? value.toLowerCase() : value;
  if (word === true || word === 'true') return true;
  return word === false || word === 'false' ? false : undefined;
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
