import {
  INCREMENT_EVENT,
  mergeReport,
  PART_OF_TOTAL_EVENT,
  type ReportedFact,
  readOutput,
  TOOL_CALL_ITEM,
  TOOL_USAGE,
  USAGE_COUNTS,
  USAGE_TOTALS,
} from '../../billing/index.ts';
import { createJsonValueFinder, sliceChunks, type WantedValue } from '../../kernel/index.ts';
import type { RelayKind } from '../../store/ports/index.ts';
import { type EventConsumer, findInEvents } from '../answers/read-events.ts';
import { ENDPOINTS, type Endpoint } from '../endpoints.ts';
import type { AnswerEnd } from '../types.ts';

/** The usage that an answer reports, by names of facts. */
export type UsageFacts = Partial<Record<ReportedFact, number>>;

/**
 * Reads the usage of an answer while its bytes pass. It holds no more than one text's numbers. That
 * a stream reports any is asked for in `ask-for-usage.ts`.
 */
export type UsageReader = {
  /** For an answer that is one complete JSON text. */
  readAnswer(text: Uint8Array): Promise<void>;
  /** For an answer that is one JSON text, which comes in parts. */
  push(part: Uint8Array): void;
  /** For an answer that is a stream of events. */
  events: EventConsumer;
  /** Whether the vendor has reported what the price reads, and nothing came after it. */
  isSettled(): boolean;
  /** Whether something came, or is being made, that only the vendor can count. */
  owesCount(): boolean;
  /** Tokens of the text that came. */
  countedTokens(): number;
  /** Images that came. Call it after `end`. */
  countedImages(): number;
  /**
   * The facts that are known of the answer: reported by the vendor, else counted. `isReported`: it
   * did report something. `isFinal`: the text that reported it last says that the response is over;
   * counts of one that goes on may grow. `hasResult`: the answer has a result, or may have one.
   * Call it once, at the end of the answer.
   */
  end(how: AnswerEnd): { facts: UsageFacts; isReported: boolean; isFinal: boolean; hasResult: boolean };
};

type UsageReaderOptions = {
  /** The answer is a stream of events and not one JSON text. */
  isEvents: boolean;
  /** The facts that the price reads. */
  needed: readonly ReportedFact[];
  /** The model may think unseen: the vendor may count more than the text that comes. */
  thinks?: boolean;
};

/** Text of most languages has about four bytes of UTF-8 for each token. */
export const BYTES_PER_TOKEN = 4;

/** The event that ends an item of a response. */
const ITEM_END = 'response.output_item.done';
/** A response that has no output yet. */
const UNFINISHED = /^(?:queued|in_progress)$/;
/** The type of a response whose usage is its last. */
const FINISHED = /^(?:completed|incomplete|cancelled|failed)$/;
/** Events and parts that bring nothing but plain text, and items that hold it. */
const PLAIN_EVENT =
  /^(?:error|keepalive|ping|(?:response|transcript)\.(?:created|queued|in_progress|completed|incomplete|failed|cancelled|(?:output_text|text|refusal|content_part|output_item)\.[a-z_.]{1,40}))$/;
const PLAIN_PART = /^(?:text|output_text|refusal|message)$/;
/** Thoughts and calls, whose text counts: the vendor may count more of it than comes. */
const CALL_EVENT = /^response\.(?:reasoning|function_call|custom_tool_call)[a-z_]{0,40}\.[a-z]{1,20}$/;
const CALL_PART = /^(?:reasoning|thinking|function_call|custom_tool_call)$/;

const listWantedValues = ({
  counted,
  calls = {},
  opaque = {},
  items,
  results,
}: Endpoint): Record<string, WantedValue> => ({
  ...Object.fromEntries(
    [...USAGE_COUNTS.keys(), ...USAGE_TOTALS, ...TOOL_USAGE.keys()].map((path) => [path, 'number'] as const),
  ),
  ...opaque,
  ...calls,
  ...counted,
  ...items,
  ...results,
});

/** `kind`: of the request. */
export function createUsageReader(
  kind: RelayKind,
  { isEvents, needed, thinks = false }: UsageReaderOptions,
): UsageReader {
  const {
    counted: countedPaths,
    calls = {},
    items = {},
    results = {},
    isOpaque = false,
    hasNoOutput,
  } = ENDPOINTS[kind];
  const reports: ReadonlySet<string> = new Set(ENDPOINTS[kind].reports);
  const countsOutput = reports.has('output_tokens') && !hasNoOutput;
  const owed = needed.flatMap((fact) =>
    fact === 'cached_tokens' ? [] : fact === 'tool_calls' ? 'output_tokens' : fact,
  );
  const finder = createJsonValueFinder(WANTED[kind]);
  /** By the latest texts that had them; what tools used is counted apart. */
  let reported: UsageFacts = {};
  let usedByTools: UsageFacts = {};
  let textBytes = 0;
  let images = 0;
  /** Calls of the vendor's tools: items that have ended one by one, and the most of one list. */
  let [endedCalls, listedCalls] = [0, 0];
  /** Each image has an event of its own, and all have one usage. */
  let hasTotal = false;
  /** Something of the answer came after the latest report. */
  let isStale = false;
  /** Something came whose count is unknown: at all, or until the answer has ended on its own. */
  let hasOpaque = false;
  let mayCountMore = thinks;
  let hasResult = false;
  let isFinal = false;
  const known = (fact: ReportedFact): number => (reported[fact] ?? 0) + (usedByTools[fact] ?? 0);
  const countedTokens = () => Math.ceil(textBytes / BYTES_PER_TOKEN);

  function endText(): void {
    const counts: UsageFacts = {};
    const tools: UsageFacts = {};
    let total = 0;
    let isIncrement = false;
    let hasContent = false;
    let isFinished = false;
    /** Images of each list of them: some vendors give the same ones in two. */
    const lists = new Map<string, number>();
    /** The current object of a list was counted as an image. */
    let isCounted = false;
    let calledTools = 0;
    let isItemEnd = false;

    const found = finder.end();
    finder.reset();
    for (const { path, value } of found) {
      if (typeof value === 'string') readName(path, value);
      else readCount(path, value);
    }
    images += Math.max(0, ...lists.values());
    const output = countsOutput ? readOutput(counts, total) : 0;
    if (output > 0) counts.output_tokens = output;
    if (isItemEnd) endedCalls += calledTools;
    else listedCalls = Math.max(listedCalls, calledTools);
    reported = mergeReport(reported, counts, { adds: isIncrement });
    usedByTools = mergeReport(usedByTools, tools);
    if (isEvents) hasResult ||= hasContent;
    if ([...Object.values(counts), ...Object.values(tools)].some((count) => count > 0)) {
      isStale = false;
      isFinal = isFinished;
    } else if (hasContent) isStale = true;

    function readCount(path: string, value: number): void {
      if (USAGE_TOTALS.has(path)) {
        total = Math.max(total, value);
        return;
      }
      const fact = USAGE_COUNTS.get(path) ?? TOOL_USAGE.get(path);
      if (fact !== undefined) {
        if (value < 0 || !reports.has(fact)) return;
        if (TOOL_USAGE.has(path)) tools[fact] = (tools[fact] ?? 0) + value;
        else counts[fact] = Math.max(counts[fact] ?? 0, value);
      } else if (Object.hasOwn(results, path)) {
        if (!reports.has('images')) hasResult = true;
        else if (results[path] === 'object') isCounted = false;
        else if (value > 0 && !isCounted) {
          const [list = ''] = path.split('.', 1);
          lists.set(list, (lists.get(list) ?? 0) + 1);
          isCounted = true;
        }
      } else {
        if (countedPaths[path] === 'length') textBytes += value;
        else if (Object.hasOwn(calls, path)) mayCountMore = true;
        else if (value > 0) hasOpaque = true;
        hasContent ||= value > 0;
      }
    }

    function readName(path: string, value: string): void {
      const isListed = Object.hasOwn(items, path);
      if ((isListed || path === 'item.type') && TOOL_CALL_ITEM.test(value)) calledTools += 1;
      if (isListed) return;
      isItemEnd ||= path === 'type' && value === ITEM_END;
      if (path === 'status' || path === 'response.status') {
        isFinished = FINISHED.test(value);
        if (path === 'status') hasResult ||= UNFINISHED.test(value);
      } else if (path === 'response.reasoning.effort') mayCountMore ||= value !== 'none';
      else if (CALL_EVENT.test(value) || CALL_PART.test(value)) mayCountMore = hasContent = true;
      else if (!PLAIN_EVENT.test(value) && !PLAIN_PART.test(value)) {
        hasOpaque = hasContent = true;
        hasTotal ||= PART_OF_TOTAL_EVENT.test(value);
        isIncrement = INCREMENT_EVENT.test(value) && !hasTotal;
        if (isIncrement || PART_OF_TOTAL_EVENT.test(value)) images += 1;
      }
    }
  }

  return {
    async readAnswer(text) {
      if (!finder.readWhole(text)) for await (const slice of sliceChunks([text])) finder.push(slice);
    },
    push: finder.push,
    events: findInEvents(finder, endText),
    isSettled: () => !isStale && owed.every((fact) => known(fact) > 0),
    owesCount: () => isOpaque || hasOpaque || mayCountMore,
    countedTokens,
    countedImages: () => images,
    end(how) {
      if (!isEvents) endText();
      const facts: UsageFacts = Object.fromEntries(
        [...new Set([...Object.keys(reported), ...Object.keys(usedByTools)])].map((fact) => [
          fact,
          known(fact as ReportedFact),
        ]),
      );
      const isReported = images > 0 || Object.keys(facts).length > 0;
      const toolCalls = Math.max(endedCalls, listedCalls);
      if (toolCalls > (facts.tool_calls ?? 0)) facts.tool_calls = toolCalls;
      // Some vendors do not count them as input. Prices take them for a part of it.
      const { input_tokens: input, cached_tokens: cached } = facts;
      if (input !== undefined && cached !== undefined) facts.cached_tokens = Math.min(cached, input);
      const isCut = how === 'cut' && isOpaque;
      const isTextKnown = isEvents && !isCut && !hasOpaque && (how === 'ended' || !mayCountMore);
      const { output_tokens: output = 0 } = facts;
      if (reports.has('output_tokens') && (output === 0 || isStale)) {
        if (isTextKnown) facts.output_tokens = Math.max(output, countedTokens());
        else if (how !== 'ended') delete facts.output_tokens;
        else if (facts.output_tokens === 0) facts.output_tokens = countedTokens();
      }
      if (reports.has('images') && !isCut && (images > 0 || (isEvents && !hasOpaque)))
        facts.images = Math.max(images, facts.images ?? 0);
      return { facts, isReported, isFinal, hasResult };
    },
  };
}

/** A finder is planned once for each object. */
const WANTED = Object.fromEntries(
  Object.entries(ENDPOINTS).map(([kind, endpoint]) => [kind, listWantedValues(endpoint)]),
) as Record<RelayKind, Record<string, WantedValue>>;
