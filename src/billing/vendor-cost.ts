import { isObject, type JsonObject, QUOTA_PER_USD } from '../kernel/index.ts';
import type { TaskRecord } from '../store/ports/index.ts';
import { billingErrors } from './errors.ts';
import { finalFacts } from './explain-bill.ts';
import { parsePriceExpression } from './parse-price.ts';

/** Among a channel's settings: what its vendor bills, an expression for each model, or for `*`. */
const COST_PRICES = 'cost_prices';
const MAX_MODELS = 1000;

type CostedTask = Pick<TaskRecord, 'billing' | 'quota' | 'status'> & {
  properties: Pick<TaskRecord['properties'], 'originModelName' | 'upstreamModelName'>;
};

/** USD. `margin`: what its user was charged, less the cost. */
export type VendorCost = { cost: number; margin: number };

/**
 * What a task that has ended cost at its vendor, by the cost prices of its channel as they are now
 * and the facts of its bill; one that failed is taken to have cost nothing. Undefined: it runs, or
 * nothing says what it cost.
 */
export function vendorCost(task: CostedTask, settings: JsonObject | undefined): VendorCost | undefined {
  const prices = settings?.[COST_PRICES];
  if (!isObject(prices) || (task.status !== 'SUCCESS' && task.status !== 'FAILURE')) return undefined;
  if (task.status === 'FAILURE') return { cost: 0, margin: 0 };
  const { upstreamModelName, originModelName } = task.properties;
  const expression = prices[upstreamModelName] ?? prices[originModelName] ?? prices['*'];
  const parsed = typeof expression === 'string' ? parsePriceExpression(expression) : undefined;
  if (!parsed?.ok) return undefined;
  const { action } = task.billing;
  const result = parsed.value.evaluate({ facts: finalFacts(task), model: upstreamModelName, action });
  if (!result.ok) return undefined;
  const cost = result.value.usd;
  return { cost, margin: round(task.quota / QUOTA_PER_USD - cost) };
}

/** Differences of decimal fractions have a tail that means nothing. */
const round = (usd: number): number => Number(usd.toFixed(9));

/** @throws `billing.price_invalid` for invalid cost prices */
export function checkCostPrices(settings: JsonObject | undefined): void {
  const prices = settings?.[COST_PRICES];
  if (prices === undefined) return;
  const param = `settings.${COST_PRICES}`;
  if (!isObject(prices) || Object.keys(prices).length > MAX_MODELS)
    throw billingErrors.price_invalid({
      message: `${param} must be an object of at most ${MAX_MODELS} models, or *, to price expressions.`,
      param,
    });
  for (const expression of Object.values(prices)) {
    const parsed = parsePriceExpression(String(expression));
    if (!parsed.ok) throw billingErrors.price_invalid({ message: parsed.error, param });
  }
}
