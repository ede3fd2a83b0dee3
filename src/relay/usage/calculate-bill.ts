/**
 * What a relayed answer costs: `calculateBill` decides by the usage that its vendor reports, and
 * refuses reports that cannot be true. Where it reports none, `read-usage.ts` counts four bytes of
 * text as a token.
 */
import { REPORT_MARGIN, type ReportedFact } from '../../billing/index.ts';
import { mapModel } from '../../channels/index.ts';
import { isObject, type Json, type JsonObject, type Sentence, sentence } from '../../kernel/index.ts';
import type { RelayRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../../tasks/index.ts';
import { readMediaEssence } from '../answers/filter-answer.ts';
import { ENDPOINTS, keepsObject } from '../endpoints.ts';
import type { AnswerEnd, Delivery, RelayDeps, RelayIntent, RelayShared } from '../types.ts';
import { plausibleMaxima } from './estimate-reservation.ts';
import type { UsageFacts, UsageReader } from './read-usage.ts';
import type { billRelay } from './reserve-and-bill.ts';

type Bill = Parameters<typeof billRelay>[2];

export const NO_USAGE = sentence('relay.no_usage');

/** Members of a request that make a model think before it answers. */
const THINKING = ['reasoning_effort', 'reasoning', 'thinking', 'enable_thinking', 'thinking_budget'] as const;
const OFF: readonly unknown[] = [false, 'none', 'disabled', 0];
/**
 * A report above the text that came, times this and plus that, means that there was unseen
 * reasoning.
 */
const UNSEEN_TIMES = 2;
const UNSEEN_TOKENS = 100;
const MAX_THINKING_MODELS = 1000;

/**
 * `how`: how a stream ended, or `whole` for an answer that was not streamed. `spokenSeconds`: the
 * least seconds that the recording must have.
 */
type Ended = { usageReader: UsageReader | undefined; how: AnswerEnd | 'whole'; spokenSeconds?: number };

/**
 * The bill of an answer whose price reads the vendor's usage. An answer without result costs
 * nothing, unless its client left before one came. A stream without usage is billed by what came of
 * it. What stays unknown is billed as reserved, and so is an implausible report.
 */
export function calculateBill(
  deps: RelayDeps,
  delivery: Delivery,
  { usageReader, how, spokenSeconds = 0 }: Ended,
): Bill {
  const { intent, relay, response } = delivery;
  const httpStatus = response.status;
  if (!usageReader) return { httpStatus, trouble: NO_USAGE };
  const { facts, isReported, isFinal, hasResult } = usageReader.end(how === 'whole' ? 'ended' : how);
  const goesOn = runsInBackground(intent);
  const { reports, answers } = ENDPOINTS[intent.kind];
  const isOver = how === 'whole' || how === 'ended' || (how === 'broke' && !usageReader.owesCount());
  if (isOver && !goesOn && !isReported && !hasResult && !answers?.test(readMediaEssence(response)))
    return { httpStatus, usage: Object.fromEntries(reports.map((fact) => [fact, 0])) };
  const { seconds: measured } = relay.billing.facts;
  if (facts.seconds === undefined && typeof measured === 'number' && spokenSeconds > measured)
    facts.seconds = spokenSeconds;
  if (Object.keys(facts).length === 0 || (goesOn && !isFinal)) return { httpStatus, trouble: NO_USAGE };
  const trouble = refuseReport(deps, delivery, { usageReader, facts });
  if (trouble !== undefined) return { httpStatus, usage: facts, trouble };
  if (how === 'ended') rememberThinkingModel(deps, delivery, { usageReader, facts });
  return { httpStatus, usage: facts };
}

/** Whether the vendor goes on with it after its answer, and without its client. */
export const runsInBackground = ({ kind, values }: Pick<RelayIntent, 'kind' | 'values'>): boolean =>
  values.background === true && keepsObject(kind);

/**
 * Why a report cannot be what the request allowed; undefined: it can, or what came shows that the
 * vendor did more. The operator is told.
 */
function refuseReport(
  deps: RelayDeps,
  delivery: Delivery,
  { usageReader, facts }: { usageReader: UsageReader; facts: UsageFacts },
): Sentence | undefined {
  const allowed = plausibleMaxima(delivery);
  const most = {
    ...allowed,
    output_tokens: Math.max(allowed.output_tokens, REPORT_MARGIN * usageReader.countedTokens()),
    images: Math.max(allowed.images, REPORT_MARGIN * usageReader.countedImages()),
  };
  return refuseImplausibleReport(deps, delivery.relay, { facts, most });
}

/**
 * Refuses a report in which any fact exceeds its limit. The operator is told. For tasks
 * `tasks/state/collect-usage.ts` does.
 */
export function refuseImplausibleReport(
  { logger, telemetry }: Pick<TaskDeps, 'logger' | 'telemetry'>,
  { relayId, channelId, model }: RelayRecord,
  { facts, most }: { facts: UsageFacts; most: Record<ReportedFact, number> },
): Sentence | undefined {
  for (const [fact, count] of Object.entries(facts) as [ReportedFact, number][]) {
    if (count <= most[fact]) continue;
    const logFields = { relay_id: relayId, channel_id: channelId, model, fact, reported: count };
    logger.error(
      { ...logFields, most: most[fact] },
      'vendor reported more usage than the request allowed; the reservation is charged',
    );
    telemetry.meter?.implausibleUsage(channelId);
    return sentence('tasks.usage_beyond', { count, fact });
  }
  return undefined;
}

const modelKey = ({ account: { channel }, intent: { model } }: Pick<Delivery, 'account' | 'intent'>): string =>
  `${channel.id} ${mapModel(channel.modelMapping, model)}`;

/** Whether an earlier answer of the model told of thoughts that did not come as text. */
export const hidesReasoning = (
  { thinkingModels }: Pick<RelayShared, 'thinkingModels'>,
  delivery: Pick<Delivery, 'account' | 'intent'>,
): boolean => thinkingModels.has(modelKey(delivery));

/** Whether the request makes the model think before it answers. */
export const requestsReasoning = ({ values }: Pick<RelayIntent, 'values'>): boolean =>
  THINKING.some((name) => {
    const value: Json = (values as JsonObject)[name] ?? false;
    const switches = isObject(value) ? [value.type, value.effort, value.enabled] : [value];
    return !switches.some((wish) => OFF.includes(wish));
  });

function rememberThinkingModel(
  { shared: { thinkingModels } }: RelayDeps,
  delivery: Delivery,
  { usageReader, facts: { output_tokens: reported = 0 } }: { usageReader: UsageReader; facts: UsageFacts },
): void {
  if (reported <= UNSEEN_TIMES * usageReader.countedTokens() + UNSEEN_TOKENS) return;
  const [oldest] = thinkingModels;
  if (thinkingModels.size >= MAX_THINKING_MODELS && oldest !== undefined) thinkingModels.delete(oldest);
  thinkingModels.add(modelKey(delivery));
}
