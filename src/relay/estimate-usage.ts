import { isObject, type Json, type JsonObject } from '../kernel/index.ts';
import type { ChannelRecord } from '../store/ports/index.ts';
import type { ClientRequest } from '../tasks/index.ts';
import { ENDPOINTS, type Endpoint, type ReportedFact } from './endpoints.ts';
import { largestLimit, mostResults } from './request-members.ts';
import { mostSeconds } from './sound/measure-sound.ts';
import { BYTES_PER_TOKEN } from './tap-usage.ts';
import type { RelayIntent } from './types.ts';

/** Reserved for an answer whose request does not limit it, unless the channel says otherwise. */
const DEFAULT_MAX_TOKENS = 4096;
/** A picture, a sound or a document; vendors count their size in ways of their own. */
const TOKENS_PER_FILE = 1000;
/** Members that hold a file as Base64. */
const FILE_MEMBERS: ReadonlySet<string> = new Set(['data', 'file_data', 'b64_json']);

/**
 * The usage that a request is reserved by, where the vendor's answer reports the true one: as many
 * tokens as its texts may have, and the longest answers that it allows. `soundSeconds`: of its
 * files; undefined where they were not measured.
 */
export function estimateUsage(
  { kind, values }: Pick<RelayIntent, 'kind' | 'values'>,
  { body }: Pick<ClientRequest, 'body'>,
  { settings, soundSeconds }: Pick<ChannelRecord, 'settings'> & { soundSeconds: number | undefined },
): JsonObject {
  const { reports, hasNoOutput } = ENDPOINTS[kind];
  const files = body.kind === 'multipart' ? body.files : [];
  const count = mostResults({ kind, values });
  const ofModel = settings.default_max_tokens;
  const limit = largestLimit({ kind, values }, isTokenCount(ofModel) ? ofModel : DEFAULT_MAX_TOKENS);
  const estimates: Record<ReportedFact, () => number> = {
    input_tokens: () => Math.ceil(textBytes(values) / BYTES_PER_TOKEN) + files.length * TOKENS_PER_FILE,
    output_tokens: () => (hasNoOutput ? 0 : count * limit),
    cached_tokens: () => 0,
    images: () => count,
    seconds: () => soundSeconds ?? mostSeconds(files),
  };
  return Object.fromEntries(reports.map((fact) => [fact, estimates[fact]()]));
}

const isTokenCount = (value: Json | undefined): value is number => Number.isSafeInteger(value) && (value as number) > 0;

/** Bytes of all texts and names. A number may be a token, a file has the size of some. */
function textBytes(value: Json, name = ''): number {
  if (typeof value === 'string') {
    const isFile = FILE_MEMBERS.has(name) || value.startsWith('data:');
    return isFile ? TOKENS_PER_FILE * BYTES_PER_TOKEN : Buffer.byteLength(value);
  }
  if (typeof value === 'number') return BYTES_PER_TOKEN;
  let bytes = 0;
  if (Array.isArray(value)) for (const item of value) bytes += textBytes(item, name);
  else if (isObject(value))
    for (const [member, inner] of Object.entries(value)) bytes += member.length + textBytes(inner as Json, member);
  return bytes;
}

/** Whether the price reads what only the vendor's answer tells. */
export const readsReport = ({ reports }: Endpoint, factKeys: readonly string[]): boolean =>
  reports.some((fact) => factKeys.includes(fact));

/** How often a report may have the request's own limits: vendors round, and count in other ways. */
export const MARGIN = 2;
/** No model takes or gives more tokens at once. */
const MOST_INPUT_TOKENS = 10_000_000;
const MOST_OUTPUT_TOKENS = 1_000_000;
/** No vendor makes more images at once unless it is asked to. */
const MOST_IMAGES = 10;
/** Vendors bill some of it for the shortest sound. */
const LEAST_SECONDS = 60;

/**
 * The most of each fact that a vendor can plausibly report of a request: its own limits, else those
 * of any model, times a margin. `reserved`: the facts of its reservation.
 */
export function mostPlausible(
  intent: Pick<RelayIntent, 'kind' | 'values' | 'facts'>,
  reserved: JsonObject,
): Record<ReportedFact, number> {
  const count = mostResults(intent);
  const namesCount = count > 1 || intent.facts.n !== undefined;
  const seconds = typeof reserved.seconds === 'number' ? reserved.seconds : Number.POSITIVE_INFINITY;
  return {
    input_tokens: MARGIN * MOST_INPUT_TOKENS,
    cached_tokens: MARGIN * MOST_INPUT_TOKENS,
    output_tokens: MARGIN * count * largestLimit(intent, MOST_OUTPUT_TOKENS),
    images: MARGIN * (namesCount ? count : MOST_IMAGES),
    seconds: MARGIN * Math.max(seconds, LEAST_SECONDS),
  };
}
