/**
 * How vendors report what an answer used. Everything that is billed by a report reads it by this
 * one table and these rules: relayed answers of all kinds, and the polls of plugins' tasks.
 */

/** A usage fact that a vendor's answer gives; it overrides what the request was reserved by. */
export type ReportedFact = 'input_tokens' | 'output_tokens' | 'cached_tokens' | 'tool_calls' | 'images' | 'seconds';

/**
 * How often a report may have the request's own limits: vendors round, and count in other ways.
 * What is beyond them is refused in `relay/usage/calculate-bill.ts` and for tasks in
 * `tasks/state/collect-usage.ts`.
 */
export const REPORT_MARGIN = 2;

/**
 * What is known after a newer report: the last count of a fact stands, but a zero never replaces a
 * positive one. `adds`: the report tells increments.
 */
export function mergeReport<T extends object>(known: T, fresh: T, { adds = false } = {}): T {
  const merged = { ...known } as Record<string, unknown>;
  for (const [fact, count] of Object.entries(fresh)) {
    const before = merged[fact];
    if (typeof count !== 'number' || typeof before !== 'number') merged[fact] = count;
    else if (adds) merged[fact] = before + count;
    else if (count !== 0) merged[fact] = count;
  }
  return merged as T;
}

/** Where vendors of OpenAI's form put a usage object: in answers, events, and the last choice. */
const PLACES = ['usage', 'response.usage', 'choices[].usage', 'x_groq.usage', 'response.x_groq.usage'] as const;

/** The names that they give each fact in it. If one object has several, the largest counts. */
const NAMES: Readonly<Record<string, ReportedFact>> = {
  prompt_tokens: 'input_tokens',
  input_tokens: 'input_tokens',
  completion_tokens: 'output_tokens',
  output_tokens: 'output_tokens',
  'prompt_tokens_details.cached_tokens': 'cached_tokens',
  'input_tokens_details.cached_tokens': 'cached_tokens',
  prompt_cache_hit_tokens: 'cached_tokens',
  cached_tokens: 'cached_tokens',
  seconds: 'seconds',
  prompt_audio_seconds: 'seconds',
  generated_images: 'images',
  // Searches, and at xAI what they have found.
  num_search_queries: 'tool_calls',
  num_sources_used: 'tool_calls',
  'server_tool_use.web_search_requests': 'tool_calls',
};

/** Items of a response for which its vendor has done more than to write, and bills a call. */
export const TOOL_CALL_ITEM = /^(?:\w{1,40}_search|code_interpreter|code_execution)_call$/;

const TOOL_PLACES = ['tool_usage.*', 'response.tool_usage.*'] as const;

const under = (places: readonly string[]): [path: string, fact: ReportedFact][] =>
  places.flatMap((place) =>
    Object.entries(NAMES).map(([name, fact]): [string, ReportedFact] => [`${place}.${name}`, fact]),
  );

/** Paths of the facts of an answer. A verbose transcription has its length beside the text. */
export const USAGE_COUNTS: ReadonlyMap<string, ReportedFact> = new Map([
  ...under(PLACES),
  ['duration', 'seconds'] as [string, ReportedFact],
]);

/** Paths of the sum of a usage object. */
export const USAGE_TOTALS: ReadonlySet<string> = new Set(PLACES.map((place) => `${place}.total_tokens`));

/**
 * The output of a usage object, with the thoughts that some vendors count in its total alone. Where
 * the rest is the cached input, that is no part of the vendor's input.
 */
export function readOutput(counts: Partial<Record<ReportedFact, number>>, total: number): number {
  const { input_tokens: input, output_tokens: output = 0, cached_tokens: cached } = counts;
  const rest = input === undefined ? 0 : total - input - output;
  return rest > 0 && rest !== cached ? output + rest : output;
}

/**
 * What the tools of a response used, such as `tool_usage.image_gen`. The vendor counts it beside
 * the usage of the response, so it is added.
 */
export const TOOL_USAGE: ReadonlyMap<string, ReportedFact> = new Map(under(TOOL_PLACES));

/**
 * Events whose usage is an increment, which is added to that of earlier ones: in OpenAI's streams
 * of images each image has its own. All other shapes report the total so far.
 */
export const INCREMENT_EVENT = /^image_(?:generation|edit)\.completed$/;
/**
 * Other vendors have an event of this type for each image, and one `completed` with the total of
 * all.
 */
export const PART_OF_TOTAL_EVENT = /^image_(?:generation|edit)\.partial_succeeded$/;
