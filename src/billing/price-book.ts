import { applyNewest, type Clock, type JsonObject } from '../kernel/index.ts';
import type { PriceRecord, Store } from '../store/ports/index.ts';
import { billingErrors } from './errors.ts';
import { judgeChange, type PluginChange, type PriceJudgement } from './judge-change.ts';
import { type PriceExpression, parsePriceExpression } from './price-expression.ts';

/** A fact that a plugin declares, as far as saving a price needs to know it. */
export type DeclaredFact = { kind: 'number' } | { kind: 'boolean' } | { kind: 'enum'; values: string[] };

export type PriceBook = {
  load(): Promise<void>;
  /** (plugin, model), ("*", model), then the same with the upstream model. */
  find(
    pluginKey: string,
    model: string,
    upstreamModel: string,
  ): { row: PriceRecord; expression: PriceExpression } | undefined;
  all(): PriceRecord[];
  /** What another version of a plugin would mean for the prices. */
  judge(change: PluginChange): PriceJudgement;
  /** Throws `billing.price_invalid` unless the expression parses, reads declared facts only and gives finite results ≥ 0 on samples. */
  save(price: { pluginKey: string; model: string; expression: string }): Promise<PriceRecord>;
  delete(pluginKey: string, model: string): Promise<void>;
};

/** At most this many sample vectors are tried when a price is saved (as in new-api). */
const MAX_SAMPLES = 64;

export function createPriceBook(deps: {
  store: Store;
  clock: Clock;
  declaredFacts: (pluginKey: string) => Record<string, DeclaredFact> | undefined;
}): PriceBook {
  const { store, clock, declaredFacts } = deps;
  let rows: PriceRecord[] = [];
  let byKey = new Map<string, { row: PriceRecord; expression: PriceExpression }>();
  const keyOf = (pluginKey: string, model: string) => `${pluginKey}\n${model}`;

  const load = applyNewest(
    () => store.prices.all(),
    (fresh) => {
      const next: typeof byKey = new Map();
      for (const row of fresh) {
        const parsed = parsePriceExpression(row.expression);
        if (parsed.ok) next.set(keyOf(row.pluginKey, row.model), { row, expression: parsed.value });
      }
      rows = fresh;
      byKey = next;
    },
  );

  return {
    load,
    all: () => rows,
    judge: (change) => judgeChange(rows, change),
    find(pluginKey, model, upstreamModel) {
      for (const name of new Set([model, upstreamModel])) {
        const found = byKey.get(keyOf(pluginKey, name)) ?? byKey.get(keyOf('*', name));
        if (found) return found;
      }
      return undefined;
    },
    async save({ pluginKey, model, expression }) {
      if (model.trim() === '') throw billingErrors.price_invalid({ message: 'The model is empty.', param: 'model' });
      checkExpression(expression, model, declaredFacts(pluginKey));
      const row: PriceRecord = { pluginKey, model, expression, updatedAt: clock.unix() };
      await store.prices.put(row);
      await load();
      await store.publish('prices');
      return row;
    },
    async delete(pluginKey, model) {
      if (!(await store.prices.delete(pluginKey, model))) throw billingErrors.price_not_found();
      await load();
      await store.publish('prices');
    },
  };
}

function checkExpression(source: string, model: string, declared: Record<string, DeclaredFact> | undefined): void {
  const invalid = (message: string) => billingErrors.price_invalid({ message, param: 'expression' });
  const parsed = parsePriceExpression(source);
  if (!parsed.ok) throw invalid(parsed.error.message);
  const expression = parsed.value;
  if (declared) {
    for (const key of expression.factKeys) {
      if (!Object.hasOwn(declared, key)) {
        const known = Object.keys(declared).join(', ') || 'none';
        throw invalid(`u("${key}") is not declared by the plugin. Declared usage facts: ${known}.`);
      }
    }
  }
  for (const facts of sampleFacts(expression.factKeys, declared)) {
    const result = expression.evaluate({ facts, model, action: 'text_to_video' });
    if (!result.ok) throw invalid(`With the facts ${JSON.stringify(facts)}: ${result.error.message}`);
  }
}

/** Smallest, ordinary and large values of each fact that the expression reads; the product of all, cut at MAX_SAMPLES. */
function sampleFacts(keys: string[], declared: Record<string, DeclaredFact> | undefined): JsonObject[] {
  let samples: JsonObject[] = [{}];
  for (const key of keys) {
    const fact = declared?.[key] ?? { kind: 'number' as const };
    const values = fact.kind === 'enum' ? fact.values : fact.kind === 'boolean' ? [true, false] : [1, 0, 3600];
    samples = samples.flatMap((sample) => values.map((value) => ({ ...sample, [key]: value }))).slice(0, MAX_SAMPLES);
  }
  return samples;
}
