import { Anchor, Button, Checkbox, Stack, Text, Textarea } from '@mantine/core';
import { type ClipboardEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { PriceSheet } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { toDecimal, toNumber, writeDecimal } from '../../ui/form/decimal.ts';
import { DecimalField, MoneyField } from '../../ui/form/decimal-field.tsx';
import { SearchField } from '../../ui/form/filter-bar.tsx';
import { useUnsavedChanges } from '../../ui/form/unsaved-changes.tsx';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PriceChanges } from './price-changes.tsx';
import {
  compareWithList,
  expressionForm,
  isEmptyDraft,
  listForms,
  type PriceDraft,
  type PriceForm,
  plainAmount,
  readAmount,
  scaleDraft,
  toDraft,
  toExpression,
} from './price-draft.ts';
import classes from './price-sheet.module.css';
import { useFormName, useMarginText, usePriceText } from './price-text.ts';
import { useSavePrices } from './use-prices.ts';

/** `/prices/sheet`: the prices of all plugins in one table. */
export function PriceSheetPage() {
  const { t } = useTranslation();
  const sheet = useApiQuery<PriceSheet>('/api/price/sheet');
  return (
    <Page
      heading={t('sheet.title')}
      intro={t('sheet.intro')}
      back={<BackLink to="/prices">{t('nav.prices')}</BackLink>}
    >
      <QueryResult query={sheet}>
        {(plugins) =>
          plugins.length === 0 ? (
            <EmptyState heading={t('models.none')} text={t('prices.emptyText')} />
          ) : (
            <Sheet plugins={plugins} />
          )
        }
      </QueryResult>
    </Page>
  );
}

type Plugin = PriceSheet[number];
type Row = { id: string; plugin: Plugin; forms: readonly PriceForm[]; model: Plugin['models'][number] };

const listRows = (plugins: PriceSheet): Row[] =>
  plugins.flatMap((plugin) => {
    const forms = listForms(plugin.facts);
    return plugin.models.map((model) => ({ id: `${plugin.plugin_key}/${model.model}`, plugin, forms, model }));
  });

/** Rows that are drawn at once. */
const rowsAtOnce = 200;

function Sheet({ plugins }: { plugins: PriceSheet }) {
  const { t } = useTranslation();
  const [query, setQuery] = useState('');
  const [drafts, setDrafts] = useState<Readonly<Record<string, PriceDraft>>>({});
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const all = listRows(plugins);
  const words = query.trim().toLowerCase().split(/\s+/);
  const inUse = all.filter(({ model }) => model.offered || model.price !== null);
  const isShort = query.trim() === '' && inUse.length > 0 && inUse.length < all.length;
  const rows = (isShort ? inUse : all)
    .filter(({ id, plugin }) => words.every((word) => `${id} ${plugin.plugin_name}`.toLowerCase().includes(word)))
    .slice(0, rowsAtOnce);
  const readDraft = (row: Row): PriceDraft => drafts[row.id] ?? toDraft(row.model.price, row.forms);
  const edited = all.filter((row) => drafts[row.id] !== undefined && !isEmptyDraft(readDraft(row)));
  const changes = edited.flatMap((row) => {
    const expression = toExpression(readDraft(row), row.forms);
    if (expression === null || expression === row.model.price?.expression) return [];
    return [{ plugin_key: row.plugin.plugin_key, model: row.model.model, expression, row }];
  });
  const save = useSavePrices(() => setDrafts({}));
  useUnsavedChanges(() => edited.length > 0 && !save.isPending);

  const change = (targets: readonly Row[], make: (row: Row) => PriceDraft | null): void =>
    setDrafts((before) => ({
      ...before,
      ...Object.fromEntries(
        targets.flatMap((row) => {
          const draft = make(row);
          return draft === null ? [] : [[row.id, draft] as const];
        }),
      ),
    }));
  /** A column of a spreadsheet fills the rows from here on. */
  const paste = (from: number, event: ClipboardEvent): void => {
    const lines = event.clipboardData.getData('text').trim().split(/\r?\n/);
    if (lines.length < 2) return;
    event.preventDefault();
    const targets = rows.slice(from, from + lines.length);
    change(targets, (row) => {
      const draft = readDraft(row);
      const amount = lines[targets.indexOf(row)]?.trim().replace(/^\$/, '') ?? '';
      const isPlain = draft.form !== expressionForm && !row.forms.find(({ id }) => id === draft.form)?.by;
      return isPlain && readAmount(amount) !== null ? { ...draft, amounts: { [plainAmount]: amount } } : null;
    });
  };
  const selected = all.filter(({ id }) => chosen.has(id));
  return (
    <>
      {save.isError && <ErrorNotice error={save.error} />}
      <Stack gap="sm">
        <SearchField
          aria-label={t('models.search')}
          placeholder={t('models.search')}
          maw={360}
          value={query}
          onChange={({ currentTarget }) => setQuery(currentTarget.value)}
        />
        <BulkChange
          count={selected.length}
          onList={(factor) =>
            change(selected, ({ model, forms }) =>
              model.list_price === null ? null : scaleDraft(toDraft(model.list_price, forms), factor),
            )
          }
          onPercent={(percent) => change(selected, (row) => scaleDraft(readDraft(row), 1 + percent / 100))}
        />
      </Stack>
      <div className={classes.frame}>
        <table className={classes.table} aria-label={t('sheet.title')}>
          <thead>
            <tr>
              <th scope="col" data-label={t('sheet.all')}>
                <Checkbox
                  aria-label={t('sheet.all')}
                  checked={rows.length > 0 && rows.every(({ id }) => chosen.has(id))}
                  onChange={({ currentTarget }) =>
                    setChosen(new Set(currentTarget.checked ? rows.map(({ id }) => id) : []))
                  }
                />
              </th>
              <th scope="col">{t('prices.model')}</th>
              <th scope="col">{t('sheet.price')}</th>
              <th scope="col" data-numeric>
                {t('sheet.margin')}
              </th>
              <th scope="col" data-numeric>
                {t('sheet.revenue')}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <SheetRow
                key={row.id}
                row={row}
                draft={readDraft(row)}
                isChosen={chosen.has(row.id)}
                isChanged={changes.some((each) => each.row.id === row.id)}
                onChoose={(isChosen) =>
                  setChosen(
                    (before) => new Set(isChosen ? [...before, row.id] : [...before].filter((id) => id !== row.id)),
                  )
                }
                onChange={(draft) => change([row], () => draft)}
                onPaste={(event) => paste(index, event)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {changes.length > 0 && (
        <PriceChanges
          changes={changes.map(({ row, ...price }) => ({
            ...price,
            ...{ id: row.id, forms: row.forms, facts: row.plugin.facts, before: row.model.price },
            draft: readDraft(row),
          }))}
          isSaving={save.isPending}
          onDiscard={() => setDrafts({})}
          onSave={() => save.mutate(changes)}
        />
      )}
    </>
  );
}

type BulkChangeProps = { count: number; onList(factor: number): void; onPercent(percent: number): void };

/** Changes all chosen prices at once: from the list price, or by a share. */
function BulkChange({ count, onList, onPercent }: BulkChangeProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const [factor, setFactor] = useState('1.3');
  const [percent, setPercent] = useState('10');
  const [times, share] = [toNumber(factor), toNumber(percent)];
  return (
    <div className={classes.bulk}>
      <Text size="sm" c="dimmed" aria-live="polite">
        {count === 0 ? t('sheet.chooseHint') : t('sheet.chosen', { count, number: format.number(count) })}
      </Text>
      {count > 0 && (
        <>
          <div className={classes.bulkChange}>
            <span aria-hidden="true">{t('sheet.factor')}</span>
            <DecimalField aria-label={t('sheet.factor')} value={factor} onChange={setFactor} w={64} />
            <Button
              variant="default"
              aria-label={`${t('sheet.apply')}: ${t('sheet.factor')}`}
              disabled={times === null}
              onClick={() => onList(times ?? 1)}
            >
              {t('sheet.apply')}
            </Button>
          </div>
          <div className={classes.bulkChange}>
            <span aria-hidden="true">{t('sheet.percent')}</span>
            <DecimalField
              aria-label={t('sheet.percent')}
              suffix={format.percent(0).replace(/[0-9]/g, '')}
              value={percent}
              onChange={setPercent}
              w={76}
            />
            <Button
              variant="default"
              aria-label={`${t('sheet.apply')}: ${t('sheet.percent')}`}
              disabled={share === null}
              onClick={() => onPercent(share ?? 0)}
            >
              {t('sheet.apply')}
            </Button>
          </div>
        </>
      )}
    </div>
  );
}

type SheetRowProps = {
  row: Row;
  draft: PriceDraft;
  isChosen: boolean;
  isChanged: boolean;
  onChoose(isChosen: boolean): void;
  onChange(draft: PriceDraft): void;
  onPaste(event: ClipboardEvent): void;
};

function SheetRow({ row, draft, isChosen, isChanged, onChoose, onChange, onPaste }: SheetRowProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const say = usePriceText();
  const sayMargin = useMarginText();
  const { plugin, model, forms } = row;
  const formName = useFormName(plugin.facts);
  const form = forms.find(({ id }) => id === draft.form);
  const tiers = compareWithList(draft, model.list_price, forms);
  const loses = [...tiers.values()].some(({ margin }) => (margin ?? 0) < 0);
  const before = isChanged ? toDraft(model.price, forms) : draft;
  const dollars = (decimal: string): string => `$${writeDecimal(decimal, i18n.language)}`;
  return (
    <tr data-changed={isChanged || undefined}>
      <td>
        <Checkbox
          aria-label={t('sheet.choose', { model: model.model })}
          checked={isChosen}
          onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
        />
      </td>
      <th scope="row">
        {model.model}
        <Text size="xs" c="dimmed">
          <Anchor component={Link} to={`/prices/${plugin.plugin_key}`} inherit c="dimmed">
            {plugin.plugin_name}
          </Anchor>
          {' · '}
          {form === undefined ? t('prices.formula') : formName(form)}
        </Text>
      </th>
      <td onPaste={onPaste} data-label={t('sheet.price')}>
        {form === undefined ? (
          <Textarea
            aria-label={t('prices.table.expressionOf', { model: model.model })}
            value={draft.expression}
            onChange={({ currentTarget }) => onChange({ ...draft, expression: currentTarget.value })}
            autosize
            minRows={1}
            spellCheck={false}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          />
        ) : (
          <div className={classes.amounts}>
            {(form.by?.values ?? [plainAmount]).map((value) => {
              const tier = tiers.get(value);
              const old = before.form === draft.form ? before.amounts[value] : undefined;
              return (
                <div key={value}>
                  <MoneyField
                    size="xs"
                    {...(value === plainAmount ? {} : { label: value })}
                    aria-label={[t('prices.table.amountOf', { model: model.model }), value].filter(Boolean).join(', ')}
                    value={draft.amounts[value] ?? ''}
                    onChange={(amount) => onChange({ ...draft, amounts: { ...draft.amounts, [value]: amount } })}
                  />
                  {old !== undefined && readAmount(old) !== readAmount(draft.amounts[value]) && (
                    <s className={classes.tier}>{dollars(old)}</s>
                  )}
                  {tier !== undefined && (
                    <span className={classes.tier} data-bad={(tier.margin ?? 0) < 0 || undefined}>
                      {t('sheet.listOf', { amount: dollars(toDecimal(tier.cost)) })}
                      {value !== plainAmount && tier.margin !== null && (
                        <>
                          <br />
                          {t('sheet.marginOf', { margin: format.percent(tier.margin) })}
                        </>
                      )}
                    </span>
                  )}
                </div>
              );
            })}
          </div>
        )}
        {model.list_price !== null && tiers.size === 0 && (
          <span className={classes.tier}>
            {t('prices.table.list', { price: say(model.list_price.summary, plugin.facts) })}
          </span>
        )}
      </td>
      <td data-numeric data-label={t('sheet.margin')} data-bad={loses || undefined}>
        {sayMargin(tiers) ?? '–'}
      </td>
      <td data-numeric data-label={t('sheet.revenue')}>
        {model.revenue === 0 ? '–' : format.money(model.revenue)}
      </td>
    </tr>
  );
}
