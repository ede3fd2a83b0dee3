import { type JsonObject, QUOTA_PER_USD, type StoredSentence } from '../kernel/index.ts';
import type { TaskRecord } from '../store/ports/index.ts';
import { writeNumber } from './evaluate-price.ts';
import { parsePriceExpression } from './parse-price.ts';

export const toQuota = (usd: number, ratio: number): number => Math.round(usd * QUOTA_PER_USD * ratio);

/** The conversion from USD to quota, as a step. */
export const quotaStep = (usd: number, ratio: number): string =>
  `round(${writeNumber(usd)} * ${QUOTA_PER_USD} * ${writeNumber(ratio)}) = ${toQuota(usd, ratio)}`;

/** The facts of the final price: later ones override earlier ones. */
export const finalFacts = ({ billing }: Pick<TaskRecord, 'billing'>): JsonObject => ({
  ...billing.facts,
  ...billing.submissionFacts,
  ...billing.completionFacts,
});

/** What a bill is explained from: a task's row, before or after its end. */
export type BilledTask = Pick<TaskRecord, 'billing' | 'group' | 'quota' | 'status'>;

export type BillExplanation = {
  expression: string | null;
  group: string;
  group_ratio: number;
  quota_per_usd: number;
  facts: JsonObject;
  submission_facts: JsonObject | null;
  completion_facts: JsonObject | null;
  estimate: { usd: number; quota: number };
  usd: number | null;
  reserved: number;
  settled: number | null;
  difference: number | null;
  steps: string[];
  summary: string;
  /** Why the reservation was charged although the final price could not be computed. */
  kept_reservation?: string;
  /** What `kept_reservation` says; absent on older bills. */
  kept_reservation_sentence?: StoredSentence;
};

/**
 * A task's bill as its owner may read it, computed from its row alone. Amounts are in quota
 * (`quota_per_usd` is one USD). `settled` and `difference` (settled minus reserved) are null while
 * the task runs. `steps` is the expression with its values filled in, one line each. `parse` may
 * remember what it has parsed.
 */
export function explainBill(task: BilledTask, parse = parsePriceExpression): BillExplanation {
  const { billing } = task;
  const { outcome } = billing;
  const reserved = outcome?.reserved ?? task.quota;
  const usd = outcome ? outcome.usd : billing.usd;
  const overlaid = outcome !== undefined && outcome.usd !== null;
  return {
    expression: billing.expression,
    group: task.group,
    group_ratio: billing.groupRatio,
    quota_per_usd: QUOTA_PER_USD,
    facts: billing.facts,
    submission_facts: billing.submissionFacts ?? null,
    completion_facts: billing.completionFacts ?? null,
    estimate: { usd: billing.usd, quota: reserved },
    usd,
    reserved,
    settled: outcome?.settled ?? null,
    difference: outcome ? outcome.settled - reserved : null,
    steps: steps(task, { facts: overlaid ? finalFacts(task) : billing.facts, parse }),
    summary: summarize(task, reserved),
    ...(outcome?.kept === undefined ? {} : { kept_reservation: outcome.kept }),
    ...(outcome?.keptSentence === undefined ? {} : { kept_reservation_sentence: outcome.keptSentence }),
  };
}

type Explained = { facts: JsonObject; parse: typeof parsePriceExpression };

function steps({ billing }: BilledTask, { facts, parse }: Explained): string[] {
  if (billing.expression === null) return [];
  const parsed = parse(billing.expression);
  const result = parsed.ok && parsed.value.evaluate({ facts, model: billing.model, action: billing.action });
  // The expression was valid and was evaluated once, so only a row from another source has no
  // steps.
  if (result === false || !result.ok) return [];
  return [...result.value.steps, quotaStep(result.value.usd, billing.groupRatio)];
}

/** One line for people. */
function summarize({ billing, status }: BilledTask, reserved: number): string {
  const { expression, outcome } = billing;
  if (expression === null) return 'The model has no price: the task costs nothing.';
  const estimate = `Reserved ${reserved} for ${writeNumber(billing.usd)} USD at group ratio ${writeNumber(billing.groupRatio)}`;
  if (!outcome) return `${estimate}; settled when the task has ended.`;
  if (status === 'FAILURE') return `${estimate}; the task failed and all of it was refunded.`;
  if (outcome.usd === null) return `${estimate}; that stands, since the final price could not be computed.`;
  const difference = outcome.settled - reserved;
  const more = outcome.capped ? ', more than was accepted for the model that was asked for' : '';
  const final = `${estimate}; the result is worth ${writeNumber(outcome.usd)} USD${more}`;
  if (difference === 0) return `${final}, exactly that was charged.`;
  return difference < 0 ? `${final}, ${-difference} was refunded.` : `${final}, ${difference} more was charged.`;
}
