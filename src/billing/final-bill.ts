import { type Logger, type Sentence, sentence, toSentence, withoutMessage } from '../kernel/index.ts';
import { finalFacts, toQuota } from './explain-bill.ts';
import type { PriceBook } from './price-book.ts';
import type { BillableTask, FinalBill } from './settle.ts';

export const TOO_LARGE = sentence('prices.too_large');

type Deps = { logger: Logger; parse: PriceBook['parse'] };

/**
 * The bill of a success: the frozen expression over the frozen facts, overridden by those of the
 * vendor's answers. If another model stood in, it costs at most what the requested one would have
 * cost (`acceptedQuota`). If `trouble` says why the latest facts could not be read, or the
 * expression cannot be evaluated, the reservation is charged as it is.
 */
export function finalBill({ logger, parse }: Deps, task: BillableTask, trouble: Sentence | undefined): FinalBill {
  const { billing, quota: reserved } = task;
  const settle = (settled: number, usd: number | null, kept?: Sentence): FinalBill => {
    const why = kept && { kept: kept.message, keptSentence: withoutMessage(kept) };
    return { quota: settled, billing: { ...billing, outcome: { reserved, settled, usd, ...why } } };
  };
  const keep = (reason: Sentence): FinalBill => {
    logger.warn(
      { task_id: task.taskId, reason: reason.message },
      'the final price could not be computed; the reserved amount is charged',
    );
    return settle(reserved, null, reason);
  };
  if (billing.expression === null) return settle(reserved, 0);
  if (trouble !== undefined) return keep(trouble);
  const parsed = parse(billing.expression);
  const result = parsed.ok
    ? parsed.value.evaluate({ facts: finalFacts(task), model: billing.model, action: billing.action })
    : parsed;
  if (!result.ok) return keep(toSentence(result.error));
  const { usd } = result.value;
  const quota = toQuota(usd, billing.groupRatio);
  const most = acceptedQuota(task, parse);
  if (most < quota) {
    return { quota: most, billing: { ...billing, outcome: { reserved, settled: most, usd, capped: true } } };
  }
  // The ledger would refuse it at every poll, and the task could never end.
  return Number.isSafeInteger(quota) ? settle(quota, usd) : keep(TOO_LARGE);
}

/** The bill of a failure: nothing. */
export const noBill = ({ billing, quota }: BillableTask): FinalBill => ({
  quota: 0,
  billing: { ...billing, outcome: { reserved: quota, settled: 0, usd: null } },
});

/**
 * The cost of the requested model by the same final facts, or its reservation where they cannot
 * tell; infinite for a task that no other model served.
 */
function acceptedQuota({ billing }: Pick<BillableTask, 'billing'>, parse: PriceBook['parse']): number {
  const { accepted } = billing;
  if (!accepted) return Number.POSITIVE_INFINITY;
  if (accepted.expression === null) return accepted.quota;
  const parsed = parse(accepted.expression);
  const facts = finalFacts({ billing: { ...billing, facts: accepted.facts } });
  const result = parsed.ok ? parsed.value.evaluate({ ...accepted, facts }) : parsed;
  const quota = result.ok ? toQuota(result.value.usd, accepted.groupRatio) : accepted.quota;
  return Number.isSafeInteger(quota) ? quota : accepted.quota;
}
