import { type Clock, createReplica, type Logger, type ReportCacheSize, sentence } from '../kernel/index.ts';
import type { PriceRecord, Store } from '../store/ports/index.ts';
import { billingErrors } from './errors.ts';
import { type PriceExpression, parsePriceExpression } from './parse-price.ts';
import { type DeclaredFact, validatePrice } from './validate-price.ts';

/** The prices of models: stored, checked, replicated on each node, and found for a request. */
export type PriceBook = {
  /** Rejects when the prices cannot be read. */
  start(): Promise<void>;
  stop(): void;
  /** Looks up (plugin, model), then ("*", model), then the same with the upstream model. */
  find(
    pluginKey: string,
    model: string,
    upstreamModel: string,
  ): { row: PriceRecord; expression: PriceExpression } | undefined;
  all(): PriceRecord[];
  /** As `parsePriceExpression`, which costs more than an evaluation, so this remembers. */
  parse: typeof parsePriceExpression;
  /** The keys that `u()` reads in an expression that was valid once. */
  listFactKeys(expression: string): readonly string[];
  /** The effect of a plugin's change on the prices. */
  checkChange(change: PluginChange): PriceChangeImpact;
  /**
   * @throws `billing.price_invalid` unless the expression parses, reads declared facts only and
   * gives finite results ≥ 0 for samples
   */
  save(price: { pluginKey: string; model: string; expression: string }): Promise<PriceRecord>;
  delete(pluginKey: string, model: string): Promise<void>;
};

/**
 * The most expressions whose fact keys are cached. Tasks may still run under prices that have
 * changed since.
 */
const MAX_CACHED_EXPRESSIONS = 1000;

export function createPriceBook(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  syncFrequencyMs: number;
  declaredFacts: (pluginKey: string, model: string) => Record<string, DeclaredFact> | undefined;
  reportCacheSize?: ReportCacheSize;
}): PriceBook {
  const { store, clock, declaredFacts } = deps;
  let rows: PriceRecord[] = [];
  let byKey = new Map<string, { row: PriceRecord; expression: PriceExpression }>();
  const parsedExpressions = new Map<string, ReturnType<typeof parsePriceExpression>>();
  deps.reportCacheSize?.('price_expressions', () => parsedExpressions.size);
  const toKey = (pluginKey: string, model: string) => `${pluginKey}\n${model}`;

  const replica = createReplica({
    topic: 'prices',
    read: () => store.prices.all(),
    apply(fresh) {
      const next: typeof byKey = new Map();
      for (const row of fresh) {
        const parsed = parsePriceExpression(row.expression);
        if (parsed.ok) next.set(toKey(row.pluginKey, row.model), { row, expression: parsed.value });
      }
      rows = fresh;
      byKey = next;
    },
    subscribe: store.subscribe,
    intervalMs: deps.syncFrequencyMs,
    logger: deps.logger,
  });

  async function reloadAndPublish(): Promise<void> {
    await replica.load();
    await store.publish('prices');
  }

  function parse(expression: string): ReturnType<typeof parsePriceExpression> {
    const known = parsedExpressions.get(expression);
    if (known) return known;
    const parsed = parsePriceExpression(expression);
    if (parsedExpressions.size >= MAX_CACHED_EXPRESSIONS) parsedExpressions.clear();
    parsedExpressions.set(expression, parsed);
    return parsed;
  }

  return {
    start: replica.start,
    stop: replica.stop,
    all: () => rows,
    checkChange: (change) => checkPriceChange(rows, change),
    parse,
    listFactKeys(expression) {
      const parsed = parse(expression);
      return parsed.ok ? parsed.value.factKeys : [];
    },
    find(pluginKey, model, upstreamModel) {
      for (const name of new Set([model, upstreamModel])) {
        const found = byKey.get(toKey(pluginKey, name)) ?? byKey.get(toKey('*', name));
        if (found) return found;
      }
      return undefined;
    },
    async save({ pluginKey, model, expression }) {
      if (model.trim() === '')
        throw billingErrors.price_invalid({ message: sentence('billing.model_empty'), param: 'model' });
      validatePrice(expression, model, declaredFacts(pluginKey, model));
      const row: PriceRecord = { pluginKey, model, expression, updatedAt: clock.unix() };
      await store.prices.put(row);
      await reloadAndPublish();
      return row;
    },
    async delete(pluginKey, model) {
      if (!(await store.prices.delete(pluginKey, model))) throw billingErrors.price_not_found();
      await reloadAndPublish();
    },
  };
}

/** What prices depend on: a plugin's models and the facts that it declares. */
type Priced = { models: readonly string[]; facts: readonly string[] };
type PluginChange = { pluginKey: string; before: Priced | null; after: Priced };

type PriceChangeImpact = {
  /** Prices of models that the plugin loses. Those of `*` may still apply to another plugin. */
  orphaned: { pluginKey: string; model: string }[];
  /** Prices that read facts which the plugin no longer declares. */
  undeclared: { pluginKey: string; model: string; facts: string[] }[];
  /** New models without a price. */
  unpriced: string[];
};

/** The effect of a plugin's change on the stored prices. */
function checkPriceChange(rows: readonly PriceRecord[], { pluginKey, before, after }: PluginChange): PriceChangeImpact {
  const own = rows.filter((row) => row.pluginKey === pluginKey || row.pluginKey === '*').sort(byKey);
  const priced = new Set(own.map(({ model }) => model));
  const isLost = (model: string): boolean => (before?.models.includes(model) ?? false) && !after.models.includes(model);
  const applies = (row: PriceRecord): boolean =>
    after.models.includes(row.model) && (row.pluginKey !== '*' || !rows.some(matchesPrice(pluginKey, row.model)));
  return {
    orphaned: own.filter(({ model }) => isLost(model)).map(({ pluginKey: key, model }) => ({ pluginKey: key, model })),
    undeclared: own.filter(applies).flatMap((row) => {
      const parsed = parsePriceExpression(row.expression);
      const facts = parsed.ok ? parsed.value.factKeys.filter((key) => !after.facts.includes(key)) : [];
      return facts.length > 0 ? [{ pluginKey: row.pluginKey, model: row.model, facts }] : [];
    }),
    unpriced: after.models.filter((model) => !(before?.models.includes(model) ?? false) && !priced.has(model)),
  };
}

const byKey = (a: PriceRecord, b: PriceRecord): number =>
  a.pluginKey < b.pluginKey || (a.pluginKey === b.pluginKey && a.model < b.model) ? -1 : 1;

const matchesPrice =
  (pluginKey: string, model: string) =>
  (row: PriceRecord): boolean =>
    row.pluginKey === pluginKey && row.model === model;
