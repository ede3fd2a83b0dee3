import { createJsonValueFinder, type FoundValue, type WantedValue } from '../../kernel/index.ts';
import type { RelayKind } from '../../store/ports/index.ts';
import { ENDPOINTS, type Endpoint, type ReportedFact } from './endpoints.ts';
import { readEventData } from './read-event-data.ts';

/** What an answer tells about its usage, by names of facts. */
export type UsageFacts = Partial<Record<ReportedFact, number>>;

/** Reads the usage of an answer while its bytes pass. It holds no more than one line's numbers. */
export type UsageTap = {
  push(bytes: Uint8Array): void;
  /**
   * What the vendor has reported, and else what came of the answer. `isReported`: it did report
   * something. `hasResult`: a whole answer has a result, or may have one. Call it once, at the end
   * of the answer.
   */
  end(): { facts: UsageFacts; isReported: boolean; hasResult: boolean };
};

/** Text of most languages has about four bytes for each token. */
export const BYTES_PER_TOKEN = 4;

/** The names that vendors give each fact, below the answer or, in events, its `response`. */
const NAMES: Readonly<Record<string, ReportedFact>> = {
  'usage.prompt_tokens': 'input_tokens',
  'usage.input_tokens': 'input_tokens',
  'usage.completion_tokens': 'output_tokens',
  'usage.output_tokens': 'output_tokens',
  'usage.prompt_tokens_details.cached_tokens': 'cached_tokens',
  'usage.input_tokens_details.cached_tokens': 'cached_tokens',
  'usage.seconds': 'seconds',
};
const REPORTED = new Map(
  Object.entries(NAMES).flatMap(([path, fact]): [string, ReportedFact][] => [
    [path, fact],
    [`response.${path}`, fact],
  ]),
);
/** A verbose transcription has the length of its audio beside the text. */
const DURATION = 'duration';
/** Streams of images have an event of such a type for each. */
const WHOLE_IMAGE = /^image_(?:generation|edit)\.completed$/;

/** A response that has no output yet. */
const UNFINISHED = /^(?:queued|in_progress)$/;

const wantedOf = ({ counted, results, reports }: Endpoint): Record<string, WantedValue> => ({
  ...Object.fromEntries([...REPORTED.keys()].map((path) => [path, 'number'] as const)),
  ...(reports.includes('seconds') ? { [DURATION]: 'number' as const } : {}),
  ...(reports.includes('images') ? { type: 'string' as const } : {}),
  ...counted,
  ...results,
});

/** `kind`: of the request. `isEvents`: the answer is a stream of events and not one JSON text. */
export function tapUsage(kind: RelayKind, { isEvents }: { isEvents: boolean }): UsageTap {
  const { counted: countedPaths, results = {} } = ENDPOINTS[kind];
  const reports: ReadonlySet<string> = new Set(ENDPOINTS[kind].reports);
  const finder = createJsonValueFinder(wantedOf(ENDPOINTS[kind]));
  const reported: UsageFacts = {};
  let textBytes = 0;
  let images = 0;
  /** The current object of `data` was counted as an image. */
  let isCounted = false;
  let hasResult = false;

  function take({ path, value }: FoundValue): void {
    if (typeof value === 'string') {
      if (WHOLE_IMAGE.test(value)) images += 1;
      if (path === 'status' && UNFINISHED.test(value)) hasResult = true;
      return;
    }
    if (Object.hasOwn(results, path)) {
      if (!reports.has('images')) hasResult = true;
      else if (results[path] === 'object') isCounted = false;
      else if (value > 0 && !isCounted) {
        images += 1;
        isCounted = true;
      }
    } else if (countedPaths[path] === 'length') textBytes += value;
    else if (value >= 0) reported[path === DURATION ? 'seconds' : (REPORTED.get(path) as ReportedFact)] = value;
  }
  function endText(): void {
    for (const found of finder.end()) take(found);
    finder.reset();
  }
  const push = isEvents ? readEventData({ push: finder.push, endLine: endText }) : finder.push;

  return {
    push,
    end() {
      if (!isEvents) endText();
      const counts: Required<Pick<UsageFacts, 'output_tokens' | 'images'>> = {
        output_tokens: Math.ceil(textBytes / BYTES_PER_TOKEN),
        images,
      };
      const counted = Object.fromEntries(Object.entries(counts).filter(([fact]) => reports.has(fact)));
      return {
        facts: { ...counted, ...reported },
        isReported: images > 0 || Object.keys(reported).length > 0,
        hasResult,
      };
    },
  };
}
