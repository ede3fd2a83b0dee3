import { Anchor, Checkbox, NativeSelect, Text, Textarea } from '@mantine/core';
import { type ClipboardEvent, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { toDecimal, writeDollars } from '../../ui/form/decimal.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import { pasteAmounts, readCell, readCells } from './paste-prices.ts';
import {
  compareWithList,
  expressionForm,
  isEmptyDraft,
  type PriceDraft,
  plainAmount,
  readAmount,
  toDraft,
  toExpression,
} from './price-draft.ts';
import classes from './price-sheet.module.css';
import { useFormName, useMarginText, usePriceText } from './price-text.ts';
import { hasPriceChanges, type PriceDrafts, type PriceTableRow } from './use-price-drafts.ts';

type PriceTableProps = {
  label: string;
  rows: readonly PriceTableRow[];
  drafts: PriceDrafts;
  /** Rows that bulk changes apply to; without it none can be chosen. */
  chosen?: { ids: ReadonlySet<string>; set(ids: ReadonlySet<string>): void };
  /** One plugin is shown: its units are chosen here, and list prices are taken row by row. */
  isOfPlugin?: boolean;
  /** The row whose price the other models can be given. */
  copied?: PriceTableRow | undefined;
};

/** Prices of models as fields, beside the vendor's list prices. */
export function PriceTable({ label, rows, drafts, chosen, isOfPlugin = false, copied }: PriceTableProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const confirm = useConfirm();
  const firstUnpriced = isOfPlugin ? rows.find(({ model }) => model.price === null)?.id : undefined;
  const [pasted, setPasted] = useState<{ at: string; filled: number; skipped: number } | null>(null);
  /** Columns of a spreadsheet fill the fields and rows from here on. */
  const paste = (from: number, event: ClipboardEvent): void => {
    const lines = readCells(event.clipboardData.getData('text'));
    const field = [...event.currentTarget.querySelectorAll('input')].indexOf(event.target as HTMLInputElement);
    // A formula may have lines, too.
    const isOfFormula = field === -1 && lines?.flat().some((cell) => readCell(cell, i18n.language) === null);
    const first = rows[from];
    if (lines === null || isOfFormula || first === undefined) return;
    event.preventDefault();
    const { drafts: filled, skipped } = pasteAmounts({
      ...{ rows: rows.slice(from), lines, field: Math.max(0, field), read: drafts.read, language: i18n.language },
    });
    drafts.change([...filled.keys()], (row) => filled.get(row) ?? null);
    setPasted({ at: first.id, filled: filled.size, skipped });
  };
  /** What the last paste left out, until what it filled is saved or discarded. */
  const skippedAt = ({ id }: PriceTableRow): number =>
    pasted?.at === id && (pasted.filled === 0 || hasPriceChanges(drafts)) ? pasted.skipped : 0;
  /** Gives the other models the price of a row; asks where they have another. */
  const copy = async (from: PriceTableRow): Promise<void> => {
    const draft = drafts.read(from);
    const others = rows.filter((row) => row !== from);
    const price = toExpression(draft, from.forms);
    const count = others.filter((row) => {
      const own = drafts.read(row);
      return !isEmptyDraft(own) && toExpression(own, row.forms) !== price;
    }).length;
    const question = {
      title: t('prices.table.copy', { count: others.length, number: format.number(others.length) }),
      text: t('prices.table.copyText', { count, number: format.number(count) }),
      action: t('prices.table.copyAction'),
      destructive: false,
    };
    if (count === 0 || (await confirm(question))) drafts.change(others, () => draft);
  };
  return (
    <div className={classes.frame} data-barred={hasPriceChanges(drafts) || undefined}>
      <table className={classes.table} aria-label={label} data-choosable={chosen !== undefined || undefined}>
        <thead>
          <tr>
            {chosen && (
              <th scope="col" data-label={t('sheet.all')}>
                <Checkbox
                  aria-label={t('sheet.all')}
                  checked={rows.length > 0 && rows.every(({ id }) => chosen.ids.has(id))}
                  onChange={({ currentTarget }) =>
                    chosen.set(new Set(currentTarget.checked ? rows.map(({ id }) => id) : []))
                  }
                />
              </th>
            )}
            <th scope="col">{t('prices.model')}</th>
            <th scope="col">{t('sheet.unit')}</th>
            <th scope="col" data-amounts>
              {t('sheet.price')}
            </th>
            <th scope="col" data-numeric>
              {t('sheet.margin')}
            </th>
            {!isOfPlugin && (
              <th scope="col" data-numeric>
                {t('sheet.revenue')}
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <PriceRow
              key={row.id}
              row={row}
              drafts={drafts}
              isOfPlugin={isOfPlugin}
              hasFocus={row.id === firstUnpriced}
              others={rows.length - 1}
              onPaste={(event) => paste(index, event)}
              skipped={skippedAt(row)}
              onCopy={row === copied ? () => void copy(row) : undefined}
              choice={
                chosen && (
                  <Checkbox
                    aria-label={t('sheet.choose', { model: row.model.model })}
                    checked={chosen.ids.has(row.id)}
                    onChange={({ currentTarget }) => {
                      const others = [...chosen.ids].filter((id) => id !== row.id);
                      chosen.set(new Set(currentTarget.checked ? [...others, row.id] : others));
                    }}
                  />
                )
              }
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

type PriceRowProps = {
  row: PriceTableRow;
  drafts: PriceDrafts;
  isOfPlugin: boolean;
  hasFocus: boolean;
  /** How many other models are shown. */
  others: number;
  choice: ReactNode;
  onPaste(event: ClipboardEvent): void;
  /** Pasted lines, from this row on, that fitted no row. */
  skipped: number;
  /** Gives the other models this price. */
  onCopy: (() => void) | undefined;
};

function PriceRow({ row, drafts, isOfPlugin, hasFocus, others, choice, onPaste, skipped, onCopy }: PriceRowProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const formatMargin = useMarginText();
  const { plugin, model, forms } = row;
  const formName = useFormName(plugin.facts);
  const draft = drafts.read(row);
  const form = forms.find(({ id }) => id === draft.form);
  const tiers = compareWithList(draft, model.list_price, forms);
  const loses = [...tiers.values()].some(({ margin }) => (margin ?? 0) < 0);
  const onChange = (next: PriceDraft): void => drafts.change([row], () => next);
  return (
    <tr data-changed={drafts.changes.some((change) => change.row.id === row.id) || undefined}>
      {choice && <td data-choice>{choice}</td>}
      <th scope="row">
        {model.model}
        {!isOfPlugin && (
          <Text size="xs" c="dimmed">
            <Anchor
              component={Link}
              to={`/prices/${plugin.plugin_key}`}
              inherit
              c="dimmed"
              display="inline-block"
              py={14}
              my={-11}
            >
              {plugin.plugin_name}
            </Anchor>
          </Text>
        )}
        {isOfPlugin && !model.offered && (
          <Text size="xs" c="dimmed">
            {t('prices.table.notOffered')}
          </Text>
        )}
      </th>
      <td data-label={t('sheet.unit')} data-unit={isOfPlugin ? 'choice' : 'text'}>
        {isOfPlugin ? (
          <NativeSelect
            size="xs"
            aria-label={t('prices.table.formOf', { model: model.model })}
            value={draft.form}
            onChange={({ currentTarget }) => onChange({ ...draft, form: currentTarget.value })}
            data={[
              ...forms.map((each) => ({ value: each.id, label: formName(each) })),
              { value: expressionForm, label: t('prices.table.expression') },
            ]}
          />
        ) : form === undefined ? (
          t('prices.formula')
        ) : (
          formName(form)
        )}
      </td>
      <td onPaste={onPaste} data-label={t('sheet.price')} data-amounts>
        {form === undefined ? (
          <Textarea
            aria-label={t('prices.table.expressionOf', { model: model.model })}
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
              <Amount
                key={value}
                row={row}
                value={value}
                draft={draft}
                tier={tiers.get(value)}
                isMissing={drafts.isRefused && drafts.incomplete.has(row.id)}
                hasFocus={hasFocus && index === 0}
                onChange={onChange}
              />
            ))}
          </div>
        )}
        <BesidePrice row={row} draft={draft} isListed={tiers.size > 0} canTake={isOfPlugin} onChange={onChange} />
        {skipped > 0 && (
          <Text size="xs" c="var(--mantine-color-error)" role="alert">
            {t('sheet.skipped', { count: skipped, number: format.number(skipped) })}
          </Text>
        )}
        {onCopy !== undefined && (
          <Anchor component="button" type="button" className={classes.act ?? ''} onClick={onCopy}>
            {t('prices.table.copy', { count: others, number: format.number(others) })}
          </Anchor>
        )}
      </td>
      <td data-numeric data-repeated data-bad={loses || undefined}>
        {formatMargin(tiers) ?? '–'}
      </td>
      {!isOfPlugin && (
        <td data-numeric data-label={t('sheet.revenue')}>
          {model.revenue ? format.money(model.revenue) : '–'}
        </td>
      )}
    </tr>
  );
}

type AmountProps = {
  row: PriceTableRow;
  /** The value of the fact that the price depends on. */
  value: string;
  draft: PriceDraft;
  tier: { cost: number; margin: number | null } | undefined;
  isMissing: boolean;
  hasFocus: boolean;
  onChange(draft: PriceDraft): void;
};

/** One amount; below it what it was, and the vendor's own. */
function Amount({ row: { model, forms }, value, draft, tier, isMissing, hasFocus, onChange }: AmountProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const before = toDraft(model.price, forms);
  const old = before.form === draft.form ? before.amounts[value] : undefined;
  const dollars = (decimal: string): string => writeDollars(decimal, i18n.language);
  const margin = tier !== undefined && tier.margin !== null && (
    <span className={classes.part}>{`${t('sheet.margin')} ${format.percent(tier.margin)}`}</span>
  );
  return (
    <div>
      <MoneyField
        size="xs"
        {...(value === plainAmount ? {} : { label: value })}
        aria-label={[t('prices.table.amountOf', { model: model.model }), value].filter(Boolean).join(', ')}
        autoFocus={hasFocus}
        error={isMissing && readAmount(draft.amounts[value]) === null}
        value={draft.amounts[value] ?? ''}
        onChange={(amount) => onChange({ ...draft, amounts: { ...draft.amounts, [value]: amount } })}
      />
      {old !== undefined && readAmount(old) !== readAmount(draft.amounts[value]) && (
        <s className={classes.tier}>{dollars(old)}</s>
      )}
      {tier !== undefined && (
        <span className={classes.tier} data-bad={(tier.margin ?? 0) < 0 || undefined}>
          {t('sheet.listOf', { amount: dollars(toDecimal(tier.cost)) })}
          {value !== plainAmount && margin}
        </span>
      )}
      {/* On a phone; elsewhere it has a column. */}
      {value === plainAmount && margin && <span className={`${classes.tier} ${classes.own}`}>{margin}</span>}
    </div>
  );
}

type BesidePriceProps = {
  row: PriceTableRow;
  draft: PriceDraft;
  /** The list price stands below each amount. */
  isListed: boolean;
  canTake: boolean;
  onChange(draft: PriceDraft): void;
};

/** The vendor's list price where it counts something else, and what other plugins charge. */
function BesidePrice({ row: { plugin, model, forms }, draft, isListed, canTake, onChange }: BesidePriceProps) {
  const { t } = useTranslation();
  const say = usePriceText();
  const list = model.list_price;
  const isAtList = list !== null && toExpression(draft, forms) === toExpression(toDraft(list, forms), forms);
  return (
    <>
      {list !== null && !isListed && (
        <span className={classes.tier}>{t('prices.table.list', { price: say(list.summary, plugin.facts) })}</span>
      )}
      {list !== null && canTake && !isAtList && (
        <Anchor
          component="button"
          type="button"
          className={classes.act ?? ''}
          aria-label={t('prices.table.takeOneOf', { model: model.model })}
          onClick={() => onChange(toDraft(list, forms))}
        >
          {t('prices.table.takeOne')}
        </Anchor>
      )}
      {canTake &&
        model.others.map(({ plugin_key: key, price }) => (
          <span key={key} className={classes.tier}>
            {t('prices.table.other', {
              plugin: key,
              price: price === null ? t('prices.table.noPrice') : say(price.summary, plugin.facts),
            })}
          </span>
        ))}
    </>
  );
}
