import { Anchor, NativeSelect, Text, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { PluginPrices } from '../../api/types.ts';
import { humanizeFieldName } from '../../ui/display/humanize-field-name.ts';
import { usePriceWords } from '../../ui/display/use-price-words.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import classes from './plugin-prices.module.css';
import { expressionForm, type PriceDraft, type PriceForm, plainAmount, readAmount } from './price-draft.ts';

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
  const formName = useFormName();
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
              {list.summary === null ? list.expression : words(list.summary, units).short}
            </Text>
            <Anchor component="button" type="button" size="sm" onClick={onTakeListPrice}>
              {t('prices.table.takeOne', { model: row.model })}
            </Anchor>
          </>
        )}
      </div>
    </li>
  );
}

/** What a form counts, such as "per second, by resolution". */
function useFormName(): (form: PriceForm) => string {
  const { t } = useTranslation();
  return ({ per, by }) => {
    const counted =
      per === null
        ? t('prices.table.perTask')
        : per.unit === 'second'
          ? t('prices.table.perSecond')
          : per.unit === 'token'
            ? t('prices.table.perTokens')
            : t('prices.table.perFact', { name: humanizeFieldName(per.name).toLowerCase() });
    return by === null ? counted : t('prices.table.by', { counted, name: humanizeFieldName(by.name).toLowerCase() });
  };
}
