import type { PriceRecord } from '../store/ports/index.ts';
import { parsePriceExpression } from './parse-price.ts';
import type { PriceBook } from './price-book.ts';

/** A model name that clients can use, and the plugin that serves it. */
export type OfferedModel = {
  /** Null: a model of a channel, served by no plugin. */
  pluginKey: string | null;
  model: string;
  /** The name after the channel's model mapping. */
  upstreamModel: string;
  /** The usage facts that the plugin declares; null where there is no plugin. */
  facts: readonly string[] | null;
  /** Whether an enabled channel lists it, so that clients can use it now. */
  offered: boolean;
};

/**
 * Why a price applies to nothing, or makes submissions fail. `facts`: those that it reads and the
 * plugin does not declare.
 */
export type PriceProblem = {
  code: 'unreadable' | 'plugin_gone' | 'model_gone' | 'facts_gone';
  message: string;
  facts?: string[];
};

/** What is currently wrong with a price; `undefined` if nothing is. */
export function findProblem(
  row: PriceRecord,
  prices: PriceBook,
  models: readonly OfferedModel[],
): PriceProblem | undefined {
  const parsed = parsePriceExpression(row.expression);
  if (!parsed.ok) return { code: 'unreadable', message: parsed.error.message };
  const everywhere = row.pluginKey === '*';
  const own = everywhere ? models : models.filter(({ pluginKey }) => pluginKey === row.pluginKey);
  if (!everywhere && own.length === 0)
    return { code: 'plugin_gone', message: `The plugin "${row.pluginKey}" is not active.` };
  const named = own.filter(({ model, upstreamModel }) => model === row.model || upstreamModel === row.model);
  if (named.length === 0) {
    const who = everywhere ? 'No plugin and no channel' : `Neither the plugin "${row.pluginKey}" nor a channel of it`;
    return { code: 'model_gone', message: `${who} has the model "${row.model}".` };
  }
  const priced = named.filter((offer) => findPrice(prices, offer) === row);
  const undeclared = parsed.value.factKeys.filter((key) =>
    priced.some(({ facts }) => facts !== null && !facts.includes(key)),
  );
  if (undeclared.length === 0) return undefined;
  const message = `The price uses billing variables that are not declared: ${undeclared.join(', ')}. Submissions are rejected.`;
  return { code: 'facts_gone', message, facts: undeclared };
}

/**
 * Models without a price, by plugin (`*`: relayed ones): free or refused, depending on
 * `billing.unpriced`.
 */
export function findUnpriced(
  prices: PriceBook,
  models: readonly OfferedModel[],
): { pluginKey: string; models: { model: string; offered: boolean }[] }[] {
  const byPlugin = new Map<string, Map<string, boolean>>();
  for (const offer of models) {
    if (findPrice(prices, offer)) continue;
    const pluginKey = offer.pluginKey ?? '*';
    const own = byPlugin.get(pluginKey) ?? new Map<string, boolean>();
    own.set(offer.model, offer.offered || (own.get(offer.model) ?? false));
    byPlugin.set(pluginKey, own);
  }
  return [...byPlugin]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([pluginKey, own]) => ({
      pluginKey,
      models: [...own].sort(([a], [b]) => (a < b ? -1 : 1)).map(([model, offered]) => ({ model, offered })),
    }));
}

const findPrice = (prices: PriceBook, { pluginKey, model, upstreamModel }: OfferedModel): PriceRecord | undefined =>
  prices.find(pluginKey ?? '*', model, upstreamModel)?.row;
