import { Anchor, NativeSelect, Text, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { PluginPrices } from '../../api/types.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import {
  expressionForm,
  type PriceDraft,
  type PriceForm,
  plainAmount,
  readAmount,
  toDraft,
  toExpression,
} from './price-draft.ts';
import { useFormName, usePriceText } from './price-text.ts';
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
  /** Gives the other models this price. */
  onCopy?: (() => void) | undefined;
};

/** One model: what its price counts, the amounts, and the vendor's list price beside them. */
export function PriceRow(props: PriceRowProps) {
  const { row, forms, facts, draft, isIncomplete, hasFocus, onChange, onTakeListPrice, onCopy } = props;
  const { t } = useTranslation();
  const say = usePriceText();
  const formName = useFormName(facts);
  const form = forms.find(({ id }) => id === draft.form);
  const list = row.list_price;
  const isAtList = list !== null && toExpression(draft, forms) === toExpression(toDraft(list, forms), forms);
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
              {t('prices.table.list', { price: say(list.summary, facts) })}
            </Text>
            {isAtList ? (
              <Text size="sm">{t('prices.table.atList')}</Text>
            ) : (
              <Anchor
                component="button"
                type="button"
                size="sm"
                aria-label={t('prices.table.takeOneOf', { model: row.model })}
                onClick={onTakeListPrice}
              >
                {t('prices.table.takeOne')}
              </Anchor>
            )}
          </>
        )}
        {onCopy !== undefined && (
          <Anchor component="button" type="button" size="sm" display="block" ta="start" onClick={onCopy}>
            {t('prices.table.copy')}
          </Anchor>
        )}
        {row.others.map(({ plugin_key: key, price }) => (
          <Text key={key} size="sm" c="dimmed">
            {t('prices.table.other', {
              plugin: key,
              price: price === null ? t('prices.table.noPrice') : say(price.summary, facts),
            })}
          </Text>
        ))}
      </div>
    </li>
  );
}
