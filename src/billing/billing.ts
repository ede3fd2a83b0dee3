import {
  type Budget,
  type Clock,
  type JsonObject,
  type Logger,
  type ReportCacheSize,
  type Sentence,
  sentence,
} from '../kernel/index.ts';
import type { BillingSnapshot, Repositories, Store } from '../store/ports/index.ts';
import { billingErrors } from './errors.ts';
import type { PriceFault } from './evaluate-price.ts';
import { quotaStep, toQuota } from './explain-bill.ts';
import { finalBill, noBill, TOO_LARGE } from './final-bill.ts';
import { parsePriceExpression } from './parse-price.ts';
import { createPriceBook, type PriceBook } from './price-book.ts';
import { createReserving, type Reserving } from './reserve.ts';
import { type BillableTask, type Ended, type FinalBill, settleAll, settleLate } from './settle.ts';
import type { DeclaredFact } from './validate-price.ts';

export type QuoteRequest = {
  pluginKey: string;
  model: string;
  upstreamModel: string;
  action: string;
  facts: JsonObject;
  group: string;
  /**
   * Whether the caller is an administrator, who may use models without a price when
   * `billing.unpriced` is `admins`.
   */
  isAdmin: boolean;
  /** Evaluated instead of the stored price. */
  expression?: string | undefined;
};
export type Quote = {
  usd: number;
  quota: number;
  /**
   * The expression with its values filled in, one line each, and the conversion from USD to quota.
   */
  steps: string[];
  snapshot: BillingSnapshot;
};

export type Billing = Reserving & {
  readonly prices: PriceBook;
  start(): Promise<void>;
  stop(): void;
  /** Whether the price reads facts: only then is the plugin's usage hook worth a call. */
  needsFacts(pluginKey: string, model: string, upstreamModel: string): boolean;
  /** Whether the frozen expression of a snapshot reads facts. */
  readsFacts(billing: Pick<BillingSnapshot, 'expression'>): boolean;
  groupRatio(group: string): number;
  /** Whether a model without a price may be used. */
  takesUnpriced(isAdmin: boolean): boolean;
  /**
   * @throws `billing.model_price_error` for a missing fact, a bad result or a model without a price
   */
  quote(request: QuoteRequest): Quote;
  /** The bill of a success. `trouble` says why the latest facts could not be read. */
  finalBill(task: BillableTask, trouble?: Sentence): FinalBill;
  /** The bill of a failure: nothing. */
  noBill(task: BillableTask): FinalBill;
  /**
   * Writes the settle or refund lines, the used-quota counters and the usage rows, in the
   * transaction of the terminal transitions. `task.quota` is the reserved amount.
   */
  settleAll(tx: Repositories, ended: readonly Ended[]): Promise<void>;
  /**
   * Settles a task that was charged as reserved (`task.quota`) because its facts were not known.
   * Moves the difference, which gets a usage row of its own.
   */
  settleLate(tx: Repositories, task: BillableTask, bill: FinalBill): Promise<void>;
  /** Refunds a settled task, whose charge is `task.quota`. Takes it from the used quotas too. */
  refundSettled(tx: Repositories, task: BillableTask, refund: { bill: FinalBill; reason: Sentence }): Promise<void>;
};

/** Settings that administrators change at run time; read again for every use. */
export type BillingSettings = {
  /** Finite and not negative; a group without an entry has 1. */
  groupRatios: Readonly<Record<string, number>>;
  /** The most that each user of a group may spend in each period. */
  groupBudgets: Readonly<Record<string, Budget>>;
  /** The time zone in which the days, weeks and months of budgets begin. */
  timezone: string;
  /** The users who may use models without a price. */
  unpriced: 'admins' | 'everyone' | 'nobody';
};

export function createBilling(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  syncFrequencyMs: number;
  /** The usage facts that a plugin declares; undefined for an unknown plugin and for `*`. */
  declaredFacts: (pluginKey: string, model: string) => Record<string, DeclaredFact> | undefined;
  settings: () => BillingSettings;
  reportCacheSize?: ReportCacheSize;
}): Billing {
  const { clock, logger } = deps;
  const prices = createPriceBook(deps);
  const settlement = () => ({ at: clock.unix(), parse: prices.parse });

  const groupRatio = (group: string) => {
    const ratios = deps.settings().groupRatios;
    return Object.hasOwn(ratios, group) ? (ratios[group] ?? 1) : 1;
  };

  const takesUnpriced = (isAdmin: boolean) => {
    const { unpriced } = deps.settings();
    return unpriced === 'everyone' || (unpriced === 'admins' && isAdmin);
  };

  /**
   * The error for facts that cannot be priced. For a missing fact it lists those that the plugin
   * declares.
   */
  const unpriceable = (
    { pluginKey, model }: { pluginKey: string; model: string },
    { message, missingFact }: PriceFault,
  ) => {
    if (missingFact === undefined) return billingErrors.model_price_error({ message });
    const declared = Object.keys(deps.declaredFacts(pluginKey, model) ?? {});
    const known = declared.length > 0 ? ` The plugin declares: ${declared.join(', ')}.` : '';
    return billingErrors.model_price_error({
      message: { ...sentence('billing.fact_missing', { fact: missingFact }), message: `${message}${known}` },
      param: missingFact,
    });
  };

  const readsFacts = ({ expression }: Pick<BillingSnapshot, 'expression'>): boolean =>
    expression !== null && prices.listFactKeys(expression).length > 0;

  const reserving = createReserving({ ...deps, readsFacts });

  return {
    prices,
    groupRatio,
    takesUnpriced,
    start: prices.start,
    stop: prices.stop,
    needsFacts: (pluginKey, model, upstreamModel) =>
      (prices.find(pluginKey, model, upstreamModel)?.expression.factKeys.length ?? 0) > 0,
    readsFacts,

    quote(request) {
      const ratio = groupRatio(request.group);
      const price =
        request.expression === undefined
          ? prices.find(request.pluginKey, request.model, request.upstreamModel)
          : tryPrice(request, request.expression);
      const base = { facts: request.facts, groupRatio: ratio, model: request.model, action: request.action };
      if (!price) {
        if (!takesUnpriced(request.isAdmin)) {
          throw billingErrors.model_price_error({
            message: sentence('billing.model_unpriced', { model: request.model }),
            param: 'model',
          });
        }
        return { usd: 0, quota: 0, steps: [], snapshot: { ...base, expression: null, priceKey: null, usd: 0 } };
      }
      const result = price.expression.evaluate(request);
      if (!result.ok) throw unpriceable(request, result.error);
      const { usd, steps } = result.value;
      const quota = toQuota(usd, ratio);
      if (!Number.isSafeInteger(quota)) throw billingErrors.model_price_error({ message: TOO_LARGE });
      const priceKey = `${price.row.pluginKey}::${price.row.model}`;
      return {
        usd,
        quota,
        steps: [...steps, quotaStep(usd, ratio)],
        snapshot: { ...base, expression: price.row.expression, priceKey, usd },
      };
    },

    finalBill: (task, trouble) => finalBill({ logger, parse: prices.parse }, task, trouble),
    noBill,

    ...reserving,
    settleAll: (tx, ended) => settleAll(tx, ended, settlement()),

    settleLate: (tx, task, bill) => settleLate(tx, { task, bill }, settlement()),
    refundSettled: (tx, task, { bill, reason }) =>
      settleAll(tx, [{ task, bill, refund: { reason } }], { ...settlement(), corrects: true }),
  };
}

/**
 * Parses an expression that is not saved.
 * @throws `billing.price_invalid`
 */
function tryPrice({ pluginKey, model }: QuoteRequest, source: string) {
  const parsed = parsePriceExpression(source);
  if (!parsed.ok) throw billingErrors.price_invalid({ message: parsed.error, param: 'expression' });
  return { row: { pluginKey, model, expression: source }, expression: parsed.value };
}
