import type { Clock, JsonObject, Logger } from '../kernel/index.ts';
import type { BillingSnapshot, Repositories, Store, TaskRecord } from '../store/ports/index.ts';
import { billingErrors } from './errors.ts';
import { createPriceBook, type DeclaredFact, type PriceBook } from './price-book.ts';
import { parsePriceExpression } from './price-expression.ts';

/** Quota units in one USD. */
const QUOTA_PER_USD = 500_000;

export type QuoteRequest = {
  pluginKey: string;
  model: string;
  upstreamModel: string;
  action: string;
  facts: JsonObject;
  group: string;
  /** Whether the caller may use models without a price under `billing.unpriced` = `admins`. */
  isAdmin: boolean;
};
export type Quote = { usd: number; quota: number; snapshot: BillingSnapshot };

/** What a terminal task finally costs and how that came about. */
export type FinalBill = { quota: number; explanation: JsonObject };

export type Billing = {
  readonly prices: PriceBook;
  start(): Promise<void>;
  stop(): void;
  /** True when a price expression would be asked for facts: only then is the plugin's usage hook worth a call. */
  needsFacts(pluginKey: string, model: string, upstreamModel: string): boolean;
  groupRatio(group: string): number;
  /** Throws `billing.model_price_error` for a missing fact, a bad result or a model without price. */
  quote(request: QuoteRequest): Quote;
  /** Frozen expression over frozen facts, overlaid by `completionFacts`; an evaluation error keeps the reservation. */
  finalBill(task: TaskRecord, completionFacts: JsonObject): FinalBill;
  /** Takes the reservation. Throws `billing.insufficient_quota` or `billing.insufficient_key_quota`, which rolls the transaction back. */
  reserve(tx: Repositories, task: ReservedTask, attempt: number): Promise<void>;
  /** Swaps a reservation of another amount for `amount` (a submission that moved to a channel with another price). */
  reserveAgain(tx: Repositories, task: ReservedTask, reserved: number, attempt: number): Promise<void>;
  /** The settle line, the used-quota counters and the usage row, inside the terminal transition's transaction. */
  settle(tx: Repositories, task: TaskRecord, bill: FinalBill): Promise<void>;
  refund(tx: Repositories, task: TaskRecord, reason: string): Promise<void>;
};

/** What an administrator sets while the gateway runs; asked anew at every use. */
export type BillingSettings = {
  /** Finite and not negative; a group that is not named has 1. */
  groupRatios: Readonly<Record<string, number>>;
  /** Who may use models without a price. */
  unpriced: 'admins' | 'everyone' | 'nobody';
};

export type ReservedTask = { taskId: string; userId: number; apiKeyId: number | null; quota: number };

export function createBilling(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  syncFrequencyMs: number;
  /** The usage facts that a plugin declares; undefined for an unknown plugin and for `*`. */
  declaredFacts: (pluginKey: string) => Record<string, DeclaredFact> | undefined;
  settings: () => BillingSettings;
}): Billing {
  const { store, clock, logger } = deps;
  const prices = createPriceBook(deps);
  let unsubscribe = () => {};
  let timer: ReturnType<typeof setInterval> | undefined;

  const reload = async () => {
    try {
      await prices.load();
    } catch (error) {
      logger.warn({ err: error }, 'prices could not be read again; the known ones stay in force');
    }
  };

  const groupRatio = (group: string) => {
    const ratios = deps.settings().groupRatios;
    return Object.hasOwn(ratios, group) ? (ratios[group] ?? 1) : 1;
  };
  const toQuota = (usd: number, ratio: number) => Math.round(usd * QUOTA_PER_USD * ratio);

  async function reserve(tx: Repositories, task: ReservedTask, attempt: number): Promise<void> {
    if (task.quota === 0) return;
    const verdict = await tx.ledger.reserve({ ...owner(task), attempt, amount: task.quota, at: clock.unix() });
    if (verdict === 'user_insufficient') throw billingErrors.insufficient_quota();
    if (verdict === 'key_insufficient') throw billingErrors.insufficient_key_quota();
  }

  return {
    prices,
    groupRatio,
    async start() {
      await prices.load();
      unsubscribe = store.subscribe((topic) => {
        if (topic === 'prices') void reload();
      });
      timer = setInterval(() => void reload(), deps.syncFrequencyMs);
      timer.unref?.();
    },
    stop() {
      unsubscribe();
      clearInterval(timer);
    },
    needsFacts: (pluginKey, model, upstreamModel) =>
      (prices.find(pluginKey, model, upstreamModel)?.expression.factKeys.length ?? 0) > 0,

    quote(request) {
      const ratio = groupRatio(request.group);
      const price = prices.find(request.pluginKey, request.model, request.upstreamModel);
      const base = { facts: request.facts, groupRatio: ratio, model: request.model, action: request.action };
      if (!price) {
        const { unpriced } = deps.settings();
        if (unpriced === 'nobody' || (unpriced === 'admins' && !request.isAdmin)) {
          throw billingErrors.model_price_error({
            message: `The model "${request.model}" has no price. An administrator can set one under Prices.`,
            param: 'model',
          });
        }
        return { usd: 0, quota: 0, snapshot: { ...base, expression: null, priceKey: null, usd: 0 } };
      }
      const result = price.expression.evaluate(request);
      if (!result.ok) {
        const fact = result.error.missingFact;
        throw billingErrors.model_price_error({ message: result.error.message, ...(fact ? { param: fact } : {}) });
      }
      const quota = toQuota(result.value, ratio);
      if (!Number.isSafeInteger(quota)) throw billingErrors.model_price_error({ message: 'The price is too large.' });
      const priceKey = `${price.row.pluginKey}::${price.row.model}`;
      return {
        usd: result.value,
        quota,
        snapshot: { ...base, expression: price.row.expression, priceKey, usd: result.value },
      };
    },

    finalBill(task, completionFacts) {
      const { billing } = task;
      const facts = { ...billing.facts, ...completionFacts };
      const explanation: JsonObject = {
        estimate: { usd: billing.usd, quota: task.quota, facts: billing.facts },
        facts,
        expression: billing.expression,
        group_ratio: billing.groupRatio,
      };
      if (billing.expression === null) return { quota: task.quota, explanation };
      const parsed = parsePriceExpression(billing.expression);
      const result = parsed.ok
        ? parsed.value.evaluate({ facts, model: billing.model, action: billing.action })
        : parsed;
      const keep = (reason: string): FinalBill => {
        logger.warn({ task_id: task.taskId, reason }, 'a final price cannot be worked out; the reservation stands');
        return { quota: task.quota, explanation: { ...explanation, kept_reservation: reason } };
      };
      if (!result.ok) return keep(result.error.message);
      const quota = toQuota(result.value, billing.groupRatio);
      // The ledger would refuse it, at every poll anew, and the task could never end.
      if (!Number.isSafeInteger(quota)) return keep('The price is too large.');
      return { quota, explanation: { ...explanation, usd: result.value, quota, difference: quota - task.quota } };
    },

    reserve,

    async reserveAgain(tx, task, reserved, attempt) {
      if (task.quota === reserved) return;
      if (reserved > 0) {
        await tx.ledger.post({
          ...owner(task),
          kind: 'refund',
          attempt: attempt - 1,
          amount: reserved,
          note: 'moved to another channel',
          at: clock.unix(),
        });
      }
      await reserve(tx, task, attempt);
    },

    async settle(tx, task, bill) {
      const at = clock.unix();
      const difference = bill.quota - task.quota;
      if (difference !== 0)
        await tx.ledger.post({ ...owner(task), kind: 'settle', attempt: 0, amount: -difference, at });
      await tx.ledger.addUsage({
        userId: task.userId,
        apiKeyId: task.apiKeyId,
        channelId: task.channelId,
        quota: bill.quota,
      });
      await tx.logs.addUsage(usageRow(task, 'settle', bill.quota, bill.explanation, at));
    },

    async refund(tx, task, reason) {
      const at = clock.unix();
      // Attempt 0 is the final refund; a moved reservation's refunds carry its attempt number.
      if (task.quota !== 0) {
        await tx.ledger.post({ ...owner(task), kind: 'refund', attempt: 0, amount: task.quota, note: reason, at });
      }
      await tx.logs.addUsage(
        usageRow(task, 'refund', task.quota, { reason, estimate: { usd: task.billing.usd, quota: task.quota } }, at),
      );
    },
  };
}

const owner = (task: { taskId: string; userId: number; apiKeyId: number | null }) => ({
  taskId: task.taskId,
  userId: task.userId,
  apiKeyId: task.apiKeyId,
});

const usageRow = (
  task: TaskRecord,
  kind: 'settle' | 'refund',
  quota: number,
  detail: JsonObject,
  createdAt: number,
) => ({
  ...owner(task),
  channelId: task.channelId,
  pluginKey: task.platform,
  model: task.properties.originModelName,
  kind,
  quota,
  detail,
  createdAt,
});
