import { Anchor, NativeSelect, Text, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { PluginPrices, PriceSummary } from '../../api/types.ts';
import { type FieldLabels, labelInSentence } from '../../ui/display/use-format.ts';
import { tokensPerPrice, usePriceWords } from '../../ui/display/use-price-words.ts';
import { toDecimal, toNumber } from '../../ui/form/decimal.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import classes from './prices.module.css';

type PriceRowProps = {
  row: PluginPrices['models'][number];
  forms: readonly PriceForm[];
  facts: PluginPrices['facts'];
  draft: PriceDraft;
  isIncomplete: boolean;
  hasFocus: boolean;
  onChange(draft: PriceDraft): void;
  /** Takes the vendor's list price. */
  onTakeListPrice(): void;
};

/** One model: what its price counts, the amounts, and the vendor's list price beside them. */
export function PriceRow(props: PriceRowProps) {
  const { row, forms, facts, draft, isIncomplete, hasFocus, onChange, onTakeListPrice } = props;
  const { t } = useTranslation();
  const words = usePriceWords();
  const formName = useFormName(facts);
  const form = forms.find(({ id }) => id === draft.form);
  const units = Object.fromEntries(facts.map(({ name, unit }) => [name, unit]));
  const list = row.list_price;
  return (
    <li className={classes.row}>
      <div className={classes.model}>
        <strong>{row.model}</strong>
        {!row.offered && (
          <Text size="xs" c="dimmed">
            {t('prices.table.notOffered')}
          </Text>
        )}
      </div>
      <NativeSelect
        aria-label={t('prices.table.formOf', { model: row.model })}
        value={draft.form}
        onChange={({ currentTarget }) => onChange({ ...draft, form: currentTarget.value })}
        data={[
          ...forms.map((each) => ({ value: each.id, label: formName(each) })),
          { value: expressionForm, label: t('prices.table.expression') },
        ]}
      />
      {form === undefined ? (
        <Textarea
          aria-label={t('prices.table.expressionOf', { model: row.model })}
          value={draft.expression}
          onChange={({ currentTarget }) => onChange({ ...draft, expression: currentTarget.value })}
          placeholder='0.05 * u("seconds")'
          autosize
          minRows={1}
          spellCheck={false}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        />
      ) : (
        <div className={classes.amounts}>
          {(form.by?.values ?? [plainAmount]).map((value, index) => (
            <MoneyField
              key={value}
              {...(value === plainAmount ? {} : { label: value })}
              aria-label={[t('prices.table.amountOf', { model: row.model }), value].filter(Boolean).join(', ')}
              autoFocus={hasFocus && index === 0}
              error={isIncomplete && readAmount(draft.amounts[value]) === null}
              value={draft.amounts[value] ?? ''}
              onChange={(amount) => onChange({ ...draft, amounts: { ...draft.amounts, [value]: amount } })}
            />
          ))}
        </div>
      )}
      <div className={classes.list}>
        {list !== null && (
          <>
            <Text size="sm" c="dimmed">
              {list.summary === null ? list.expression : words(list.summary, units, readLabels(facts)).short}
            </Text>
            <Anchor component="button" type="button" size="sm" onClick={onTakeListPrice}>
              {t('prices.table.takeOne', { model: row.model })}
            </Anchor>
          </>
        )}
        {row.others.map(({ plugin_key: key, price }) => (
          <Text key={key} size="sm" c="dimmed">
            {t('prices.table.other', {
              plugin: key,
              price:
                price === null
                  ? t('prices.table.noPrice')
                  : price.summary === null
                    ? price.expression
                    : words(price.summary, units, readLabels(facts)).short,
            })}
          </Text>
        ))}
      </div>
    </li>
  );
}

/** What a form counts, such as "per second, by resolution". */
export function useFormName(facts: readonly Fact[]): (form: PriceForm) => string {
  const { t, i18n } = useTranslation();
  const say = (name: string): string => labelInSentence(readLabels(facts), name, i18n.language);
  return ({ per, by }) => {
    const counted =
      per === null
        ? t('prices.table.perTask')
        : per.unit === 'second'
          ? t('prices.table.perSecond')
          : per.unit === 'token'
            ? t('prices.table.perTokens')
            : t('prices.table.perFact', { name: say(per.name) });
    return by === null ? counted : t('prices.table.by', { counted, name: say(by.name) });
  };
}

type Fact = PluginPrices['facts'][number];

export const readLabels = (facts: readonly Fact[]): FieldLabels =>
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
