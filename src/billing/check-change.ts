import type { PriceRecord } from '../store/ports/index.ts';
import { parsePriceExpression } from './price-expression.ts';

/** What prices depend on: a plugin's models and the facts that it declares. */
type Priced = { models: readonly string[]; facts: readonly string[] };
export type PluginChange = { pluginKey: string; before: Priced | null; after: Priced };

export type PriceChangeImpact = {
  /** Prices of models that the plugin loses. Those of `*` may still apply to another plugin. */
  orphaned: { pluginKey: string; model: string }[];
  /** Prices that read facts which the plugin no longer declares. */
  undeclared: { pluginKey: string; model: string; facts: string[] }[];
  /** New models without a price. */
  unpriced: string[];
};

/** The effect of a plugin's change on the stored prices. */
export function checkPriceChange(
  rows: readonly PriceRecord[],
  { pluginKey, before, after }: PluginChange,
): PriceChangeImpact {
  const own = rows.filter((row) => row.pluginKey === pluginKey || row.pluginKey === '*').sort(byKey);
  const priced = new Set(own.map(({ model }) => model));
  const isLost = (model: string): boolean => (before?.models.includes(model) ?? false) && !after.models.includes(model);
  const applies = (row: PriceRecord): boolean =>
    after.models.includes(row.model) && (row.pluginKey !== '*' || !rows.some(isPriceOf(pluginKey, row.model)));
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

const isPriceOf =
  (pluginKey: string, model: string) =>
  (row: PriceRecord): boolean =>
    row.pluginKey === pluginKey && row.model === model;
