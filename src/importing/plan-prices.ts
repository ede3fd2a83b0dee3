import { parsePriceExpression } from '../billing/index.ts';
import { type JsonObject, sha256Hex } from '../kernel/index.ts';
import { OFFICIAL_KEYS } from '../plugins/index.ts';
import type { PriceRecord } from '../store/ports/index.ts';
import { CALL_PRICES, decimal, fixedCompletionRatio, TOKEN_PRICES } from './new-api-mapping.ts';
import type { ListedModels } from './plan-channels.ts';
import { EVERYWHERE } from './plan-channels.ts';
import { type PlanContext, readObject } from './plan-context.ts';

/** Between them twelve decimals say a number well enough. */
const [LEAST, MOST] = [1e-9, 1e15];
/** Ratios of what relayed answers do not report apart. */
const UNREPORTED = ['CreateCacheRatio', 'ImageRatio', 'AudioRatio', 'AudioCompletionRatio'];

type Tables = Readonly<
  Record<'calls' | 'tokens' | 'completion' | 'cache' | 'modes' | 'expressions' | 'ofPlugins', JsonObject>
>;

/**
 * The prices of models that channels which are taken list, with the plugins that serve them. Where
 * new-api's price has no exact form here it is named in the report, never guessed.
 */
export async function planPrices(
  context: PlanContext,
  { models: listed, pluginKeys }: ListedModels,
): Promise<PriceRecord[]> {
  const { options, report, store, now, sourceKey } = context;
  const tables: Tables = {
    calls: readObject(options.get('ModelPrice')),
    tokens: readObject(options.get('ModelRatio')),
    completion: readObject(options.get('CompletionRatio')),
    cache: readObject(options.get('CacheRatio')),
    modes: readObject(options.get('billing_setting.billing_mode')),
    expressions: readObject(options.get('billing_setting.billing_expr')),
    ofPlugins: readObject(options.get('billing_setting.plugin_billing_expr')),
  };
  const leave = (model: string, code: string, message: string) =>
    report.remark({ kind: 'price', id: model, name: '', effect: 'left', code, message });
  const existing = new Map((await store.prices.all()).map((row) => [`${row.pluginKey}\n${row.model}`, row.expression]));
  const pairs = [...listed].flatMap(([model, plugins]) => [...plugins].map((pluginKey) => ({ pluginKey, model })));
  const earlier = await store.imports.targets(sourceKey, 'price', pairs.map(priceId));

  const prices: PriceRecord[] = [];
  for (const [model, plugins] of listed) {
    for (const pluginKey of plugins) {
      const expression =
        pluginKey === EVERYWHERE
          ? priceOfRelay(model, tables, options)
          : (readExpression(pluginKeys, pluginKey, { model, tables }) ?? priceOfPlugin(pluginKey, { model, tables }));
      if ('why' in expression) {
        leave(model, expression.code, expression.why);
        continue;
      }
      const present = existing.get(`${pluginKey}\n${model}`);
      // One that an earlier run took and somebody has deleted since stays deleted.
      const isDeleted = present === undefined && earlier.has(priceId({ pluginKey, model }));
      if (present === expression.text || isDeleted) report.skip('price');
      else if (present !== undefined) leave(model, 'price_taken', `${pluginKey} has another price for it here`);
      else prices.push({ pluginKey, model, expression: expression.text, updatedAt: now });
    }
  }
  for (const model of new Set([...Object.keys(tables.calls), ...Object.keys(tables.tokens)])) {
    if (!listed.has(model)) leave(model, 'not_listed', 'no imported channel lists it');
  }
  report.take('price', prices.length);
  return prices;
}

/** What an import remembers a price by: names may be longer than its column. */
export const priceId = ({ pluginKey, model }: Pick<PriceRecord, 'pluginKey' | 'model'>): string =>
  sha256Hex(`${pluginKey}\n${model}`);

type Priced = { text: string } | { code: string; why: string };

const unpriced: Priced = {
  code: 'no_price',
  why: 'it has no saved price there, so that a built-in one may have counted: set one here',
};
const inexact = (why: string): Priced => ({ code: 'inexact', why });

/**
 * The expression that was saved for the plugin and the model, or for the model alone. Both gateways
 * have the same functions of facts; what goes beyond them has no form here.
 */
function readExpression(
  pluginKeys: ReadonlySet<string>,
  pluginKey: string,
  { model, tables }: { model: string; tables: Tables },
): Priced | undefined {
  const there = Object.entries(OFFICIAL_KEYS).find(([, own]) => own === pluginKey)?.[0];
  const names = [`${pluginKey}::${model}`, `${there}::${model}`];
  const ofPlugin = names.map((name) => tables.ofPlugins[name]).find((text) => typeof text === 'string');
  const ofModel = tables.modes[model] === 'tiered_expr' ? tables.expressions[model] : undefined;
  const found = ofPlugin ?? ofModel;
  if (typeof found !== 'string' || found.trim() === '') return undefined;
  // The facts are those that the plugin of there declares.
  if (!pluginKeys.has(pluginKey)) {
    return inexact('its price is an expression over facts of another plugin: write it by hand');
  }
  return checked(found.trim().replace(/^v1:/, ''));
}

function priceOfPlugin(pluginKey: string, { model, tables }: { model: string; tables: Tables }): Priced {
  const price = numberIn(tables.calls, model);
  if (price !== undefined) {
    const text = CALL_PRICES[pluginKey]?.(decimal(price), model);
    if (price === 0) return checked('0');
    return text === undefined
      ? inexact(`${decimal(price)} USD a call there, times factors that have no form here: write it by hand`)
      : checked(text, price);
  }
  const ratio = numberIn(tables.tokens, model);
  if (ratio === undefined) return unpriced;
  const text = TOKEN_PRICES[pluginKey]?.(ratio, model);
  return text === undefined
    ? inexact(`its ratio ${decimal(ratio)} counts tokens that this plugin does not, or by factors: write it by hand`)
    : checked(text, ratio);
}

function priceOfRelay(model: string, tables: Tables, options: ReadonlyMap<string, string>): Priced {
  if (tables.modes[model] === 'tiered_expr') return inexact('its price is an expression of new-api: write it by hand');
  const price = numberIn(tables.calls, model);
  if (price !== undefined) return checked(decimal(price), price);
  const ratio = numberIn(tables.tokens, model);
  if (ratio === undefined) return unpriced;
  const other = UNREPORTED.find((name) => Object.hasOwn(readObject(options.get(name)), model));
  if (other !== undefined)
    return inexact(`it has a ${other}, for usage that is not counted apart here: write it by hand`);
  const completion = fixedCompletionRatio(model) ?? numberIn(tables.completion, model);
  if (completion === undefined) {
    return inexact('its CompletionRatio is not saved there, so that a built-in one counts: write it by hand');
  }
  const input = ratio * 2;
  const cached = input * (numberIn(tables.cache, model) ?? 1);
  const fresh = `${decimal(input)} * max(0, u("input_tokens") - u("cached_tokens"))`;
  return checked(
    `(${fresh} + ${decimal(cached)} * u("cached_tokens") + ${decimal(input * completion)} * u("output_tokens")) / 1000000`,
    ...[input, cached, input * completion],
  );
}

function numberIn(table: JsonObject, model: string): number | undefined {
  const value = Object.hasOwn(table, model) ? table[model] : undefined;
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function checked(text: string, ...numbers: readonly number[]): Priced {
  if (numbers.some((number) => number !== 0 && (number < LEAST || number > MOST))) {
    return inexact('its price is too small or too large for an expression: write it by hand');
  }
  const parsed = parsePriceExpression(text);
  return parsed.ok ? { text } : inexact(parsed.error.message);
}
