import { REPORT_MARGIN, type ReportedFact } from '../../billing/index.ts';
import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';
import { largestLimit, mostOfSeries, mostResults } from '../bodies/request-members.ts';
import { ENDPOINTS, type Endpoint } from '../endpoints.ts';
import { mostSeconds } from '../sound/measure-sound.ts';
import type { Delivery, RelayIntent } from '../types.ts';
import { estimateInputTokens, TOKENS_PER_FILE, TOKENS_PER_SECOND } from './estimate-input-tokens.ts';

/** Reserved for an answer whose request does not limit it, unless the channel says otherwise. */
const DEFAULT_MAX_TOKENS = 4096;

/**
 * The usage that a request is reserved by, where the vendor's answer reports the true one: as many
 * tokens as its texts and files may have, and the longest answers that it allows. What is billed,
 * also where no usage is reported, is decided in `calculate-bill.ts`. `soundSeconds`: of its files;
 * undefined where they were not measured. `storedTokens`: of the earlier answers that it builds on.
 */
export async function estimateReservation(
  { kind, values }: Pick<RelayIntent, 'kind' | 'values'>,
  { body }: Pick<ClientRequest, 'body'>,
  {
    settings,
    soundSeconds,
    storedTokens,
  }: Pick<ChannelRecord, 'settings'> & { soundSeconds: number | undefined; storedTokens: number },
): Promise<JsonObject> {
  const { reports, hasNoOutput } = ENDPOINTS[kind];
  const files = body.kind === 'multipart' ? body.files : [];
  const inputTokens = await estimateInputTokens(values, body.kind === 'json' ? body.extracted : undefined);
  const count = mostResultsWithSeries({ kind, values });
  const ofModel = settings.default_max_tokens;
  const limit = largestLimit({ kind, values }, isPositive(ofModel) ? ofModel : DEFAULT_MAX_TOKENS);
  const seconds = () => Math.max(1, soundSeconds ?? mostSeconds(files));
  const least = files.length * TOKENS_PER_FILE;
  const fileTokens = () =>
    reports.includes('seconds') ? Math.max(least, Math.ceil(seconds() * TOKENS_PER_SECOND)) : least;
  const estimates: Record<ReportedFact, () => number> = {
    input_tokens: () => Math.min(MOST_INPUT_TOKENS, inputTokens + storedTokens + fileTokens()),
    output_tokens: () => (hasNoOutput ? 0 : count * limit),
    cached_tokens: () => 0,
    tool_calls: () => mostToolCalls(values),
    images: () => count,
    seconds,
  };
  return Object.fromEntries(reports.map((fact) => [fact, estimates[fact]()]));
}

/** The most results that a request may bring: a vendor of series makes one for each image. */
const mostResultsWithSeries = (members: Pick<RelayIntent, 'kind' | 'values'>): number =>
  mostResults(members) * mostOfSeries(members).images;

/** Calls of the vendor's own tools that are reserved for when the request sets no maximum. */
const USUAL_TOOL_CALLS = 10;
/** Tools that the client runs itself. */
const OWN_TOOLS: ReadonlySet<unknown> = new Set([
  'function',
  'custom',
  'local_shell',
  'apply_patch',
  'computer',
  'mcp',
]);

/** Calls of the vendor's own tools that are reserved. */
function mostToolCalls({ tools, web_search_options, search_parameters, max_tool_calls: most }: JsonObject): number {
  const isVendors = (tool: Json): boolean => isObject(tool) && !OWN_TOOLS.has(tool.type);
  const offers =
    [web_search_options, search_parameters].some(isObject) || (Array.isArray(tools) && tools.some(isVendors));
  return offers ? (isPositive(most) ? most : USUAL_TOOL_CALLS) : 0;
}

const isPositive = (value: Json | undefined): value is number => Number.isSafeInteger(value) && (value as number) > 0;

/** Whether the price reads what only the vendor's answer tells. */
export const readsReport = ({ reports }: Endpoint, factKeys: readonly string[]): boolean =>
  reports.some((fact) => factKeys.includes(fact));

/** No model takes or gives more tokens at once. */
const MOST_INPUT_TOKENS = 10_000_000;
const MOST_OUTPUT_TOKENS = 1_000_000;
/** No vendor makes more images at once unless it is asked to. */
const MOST_IMAGES = 10;
/** No answer takes more calls of its vendor's tools. */
const MOST_TOOL_CALLS = 1000;
/** Vendors bill some of it for the shortest sound. */
const LEAST_SECONDS = 60;

/** The most of each fact that a vendor can plausibly report of any request. */
export const PLAUSIBLE_MAXIMA: Readonly<Record<ReportedFact, number>> = {
  input_tokens: REPORT_MARGIN * MOST_INPUT_TOKENS,
  cached_tokens: REPORT_MARGIN * MOST_INPUT_TOKENS,
  output_tokens: REPORT_MARGIN * MOST_OUTPUT_TOKENS,
  tool_calls: REPORT_MARGIN * MOST_TOOL_CALLS,
  images: REPORT_MARGIN * MOST_IMAGES,
  seconds: Number.POSITIVE_INFINITY,
};

/**
 * The most of each fact that a vendor can plausibly report of a request: its own limits, else those
 * of any model, times a margin. The length that was read of a sound limits it less than its bytes
 * do: its sender may have written it so that it seems short.
 */
export function plausibleMaxima({
  intent,
  request,
  relay,
}: Pick<Delivery, 'intent' | 'request' | 'relay'>): Record<ReportedFact, number> {
  const { body } = request.client;
  const { seconds: reserved } = relay.billing.facts;
  const bySize = body.kind === 'multipart' ? mostSeconds(body.files) : 0;
  const count = mostResultsWithSeries(intent);
  const namesCount = count > 1 || intent.facts.n !== undefined;
  const seconds = typeof reserved === 'number' ? Math.max(reserved, bySize) : Number.POSITIVE_INFINITY;
  return {
    ...PLAUSIBLE_MAXIMA,
    output_tokens: REPORT_MARGIN * count * largestLimit(intent, MOST_OUTPUT_TOKENS),
    images: REPORT_MARGIN * (namesCount ? count : MOST_IMAGES),
    seconds: REPORT_MARGIN * Math.max(seconds, LEAST_SECONDS),
  };
}
