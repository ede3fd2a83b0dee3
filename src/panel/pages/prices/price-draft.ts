import type { PluginPrices, PriceSummary } from '../../api/types.ts';
import type { FieldLabels } from '../../ui/display/use-format.ts';
import { tokensPerPrice } from '../../ui/display/use-price-words.ts';
import { toDecimal, toNumber } from '../../ui/form/decimal.ts';

export type Fact = PluginPrices['facts'][number];

export const readLabels = (facts: readonly Pick<Fact, 'name' | 'label'>[]): FieldLabels =>
  Object.fromEntries(facts.flatMap(({ name, label }) => (label === null ? [] : [[name, label] as const])));

/** What a price counts: `per` a fact or the task, `by` the values of another fact or none. */
export type PriceForm = { id: string; per: Fact | null; by: Fact | null };

/** The price of one model as it is typed: amounts in dollars by value, or an expression. */
export type PriceDraft = { form: string; amounts: Readonly<Record<string, string>>; expression: string };

export const expressionForm = 'expression';
/** The key of the amount of a form without `by`. */
export const plainAmount = '';

/** More values than this do not fit a row. */
const maxValues = 8;

/** The forms that the facts of a plugin allow, the plainest first. */
export function listForms(facts: readonly Fact[]): PriceForm[] {
  const counted = [null, ...facts.filter(({ unit }) => unit !== null)];
  const tables = facts.filter(({ values }) => values.length > 1 && values.length <= maxValues);
  return [null, ...tables].flatMap((by) =>
    counted.map((per) => ({ id: `${per?.name ?? ''}|${by?.name ?? ''}`, per, by })),
  );
}

/** The draft that shows a price; one that no form can show is an expression. */
export function toDraft(price: PluginPrices['models'][number]['price'], forms: readonly PriceForm[]): PriceDraft {
  if (price === null) return { form: preferredForm(forms), amounts: {}, expression: '' };
  const { expression, summary } = price;
  const form = summary === null ? undefined : findForm(summary, forms);
  if (summary === null || form === undefined) return { form: expressionForm, amounts: {}, expression };
  return { form: form.id, amounts: readAmounts(summary, form), expression };
}

/** Most vendors charge by the second. */
const preferredForm = (forms: readonly PriceForm[]): string =>
  (forms.find(({ per, by }) => by === null && per?.unit === 'second') ?? forms[0])?.id ?? expressionForm;

const findForm = (summary: PriceSummary, forms: readonly PriceForm[]): PriceForm | undefined =>
  forms.find(
    ({ per, by }) =>
      summary.per.join() === (per?.name ?? '') && (summary.kind === 'table' ? summary.by === by?.name : by === null),
  );

function readAmounts(summary: PriceSummary, { per, by }: PriceForm): Record<string, string> {
  const factor = per?.unit === 'token' ? tokensPerPrice : 1;
  const text = (usd: number): string => toDecimal(usd * factor);
  if (summary.kind === 'amount') return { [plainAmount]: text(summary.usd) };
  const rest = summary.rates.find(({ value }) => value === null);
  return Object.fromEntries(
    (by?.values ?? []).flatMap((value) => {
      const rate = summary.rates.find((each) => each.value === value) ?? rest;
      return rate === undefined ? [] : [[value, text(rate.usd)]];
    }),
  );
}

/** Whether nothing has been entered. */
export const isEmptyDraft = ({ form, amounts, expression }: PriceDraft): boolean =>
  form === expressionForm ? expression.trim() === '' : Object.values(amounts).every((text) => text.trim() === '');

/** The price expression of a draft; null while an amount is missing or not a number. */
export function toExpression(draft: PriceDraft, forms: readonly PriceForm[]): string | null {
  if (draft.form === expressionForm) return draft.expression.trim() || null;
  const form = forms.find(({ id }) => id === draft.form);
  if (form === undefined) return null;
  const { per, by } = form;
  const amounts = (by?.values ?? [plainAmount]).map((value) => [value, readAmount(draft.amounts[value])] as const);
  if (amounts.some(([, amount]) => amount === null)) return null;
  const amount = by === null ? String(amounts[0]?.[1]) : toTable(by, amounts);
  if (per === null) return amount;
  const factor = by === null ? amount : `(${amount})`;
  const product = `${factor} * u(${JSON.stringify(per.name)})`;
  return per.unit === 'token' ? `${product} / ${tokensPerPrice}` : product;
}

/** The last value needs no test: it is what remains. */
function toTable({ name, unit: _, values }: Fact, amounts: readonly (readonly [string, number | null])[]): string {
  const isBoolean = values.join() === 'true,false';
  return amounts
    .map(([value, amount], index) => {
      if (index === amounts.length - 1) return String(amount);
      const test = isBoolean ? `u(${JSON.stringify(name)})` : `u(${JSON.stringify(name)}) == ${JSON.stringify(value)}`;
      return `${test} ? ${amount}`;
    })
    .join(' : ');
}

/** Dollars; null while the amount is missing or not a number. */
export function readAmount(decimal: string | undefined): number | null {
  const amount = toNumber(decimal ?? '');
  return amount === null || amount < 0 ? null : amount;
}

type Tier = { cost: number; margin: number | null };

/** The vendor's list price beside each amount, and what is left of the amount above it. */
export function compareWithList(
  draft: PriceDraft,
  list: PluginPrices['models'][number]['price'],
  forms: readonly PriceForm[],
): ReadonlyMap<string, Tier> {
  const listed = toDraft(list, forms);
  if (list === null || draft.form === expressionForm || listed.form !== draft.form) return new Map();
  return new Map(
    Object.entries(listed.amounts).flatMap(([value, text]): [string, Tier][] => {
      const [amount, cost] = [readAmount(draft.amounts[value]), readAmount(text)];
      return cost === null
        ? []
        : [[value, { cost, margin: amount === null || amount === 0 ? null : 1 - cost / amount }]];
    }),
  );
}

/** The price of a draft as words take it; null while it is incomplete, or for an expression. */
export function toSummary(draft: PriceDraft, forms: readonly PriceForm[]): PriceSummary | null {
  const form = forms.find(({ id }) => id === draft.form);
  if (form === undefined || toExpression(draft, forms) === null) return null;
  const factor = form.per?.unit === 'token' ? tokensPerPrice : 1;
  const usd = (value: string): number => (readAmount(draft.amounts[value]) ?? 0) / factor;
  const per = form.per === null ? [] : [form.per.name];
  if (form.by === null) return { kind: 'amount', usd: usd(plainAmount), per };
  const rates = form.by.values.map((value) => ({ value, usd: usd(value) }));
  return { kind: 'table', by: form.by.name, rates, per };
}

/** All amounts of a draft, or its whole expression, times a factor. */
export function scaleDraft(draft: PriceDraft, factor: number): PriceDraft {
  if (draft.form === expressionForm) {
    return draft.expression.trim() === '' ? draft : { ...draft, expression: `(${draft.expression}) * ${factor}` };
  }
  const amounts = Object.entries(draft.amounts).map(([value, text]) => {
    const amount = readAmount(text);
    // Twelve digits: products of decimals have a tail that means nothing.
    return [value, amount === null ? text : toDecimal(Number((amount * factor).toPrecision(12)))] as const;
  });
  return { ...draft, amounts: Object.fromEntries(amounts) };
}
