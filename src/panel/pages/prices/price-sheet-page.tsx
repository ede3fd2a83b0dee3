import { Anchor, Button, Checkbox, Group, Text, Textarea } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type ClipboardEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { PriceSheet } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { usePriceWords } from '../../ui/display/use-price-words.ts';
import { toDecimal, toNumber, writeDecimal } from '../../ui/form/decimal.ts';
import { DecimalField, MoneyField } from '../../ui/form/decimal-field.tsx';
import { SearchField } from '../../ui/form/filter-bar.tsx';
import { useUnsavedChanges } from '../../ui/form/unsaved-changes.tsx';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PriceReplay } from './price-replay.tsx';
import {
  expressionForm,
  isEmptyDraft,
  listForms,
  type PriceDraft,
  type PriceForm,
  plainAmount,
  readAmount,
  readLabels,
  toDraft,
  toExpression,
  useFormName,
} from './price-row.tsx';
import classes from './price-sheet.module.css';
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

/** All amounts of a draft, or its whole expression, times a factor. */
function scaleDraft(draft: PriceDraft, factor: number): PriceDraft {
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

/** What is left of a price above the vendor's list price, at the value where it is least. */
function findMargin(draft: PriceDraft, { model, forms }: Row): number | null {
  if (model.list_price === null || draft.form === expressionForm) return null;
  const list = toDraft(model.list_price, forms);
  if (list.form !== draft.form) return null;
  const margins = Object.entries(draft.amounts).flatMap(([value, text]) => {
    const [amount, cost] = [readAmount(text), readAmount(list.amounts[value])];
    return amount === null || cost === null || amount === 0 ? [] : [1 - cost / amount];
  });
  return margins.length === 0 ? null : Math.min(...margins);
}

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
  // There the list would hide what is edited.
  const isPhone = useMediaQuery('(max-width: 760px)', undefined, { getInitialValueInEffect: false }) === true;
  return (
    <>
      {save.isError && <ErrorNotice error={save.error} />}
      <Group justify="space-between" align="end">
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
      </Group>
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
              <th scope="col">{t('sheet.unit')}</th>
              <th scope="col">{t('sheet.price')}</th>
              <th scope="col">{t('sheet.list')}</th>
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
      {isShort && (
        <Text size="sm" c="dimmed">
          {t('sheet.onlyOffered')}
        </Text>
      )}
      {changes.length > 0 && (
        <section className={classes.bar} aria-label={t('sheet.changes')}>
          <details open={!isPhone}>
            <summary>{t('sheet.changes')}</summary>
            <ul>
              {changes.slice(0, 20).map(({ row, expression }) => (
                <li key={row.id}>
                  <strong>{row.model.model}</strong> <code>{row.model.price?.expression ?? t('models.noPrice')}</code>
                  {' → '}
                  <code>{expression}</code>
                </li>
              ))}
            </ul>
            <PriceReplay tried={{ prices: changes.map(({ row: _, ...price }) => price) }} />
          </details>
          <Group justify="flex-end" gap="sm">
            <Button variant="default" disabled={save.isPending} onClick={() => setDrafts({})}>
              {t('settings.discard')}
            </Button>
            <Button loading={save.isPending} onClick={() => save.mutate(changes)}>
              {t('prices.table.save', { count: changes.length })}
            </Button>
          </Group>
        </section>
      )}
    </>
  );
}

type BulkChangeProps = { count: number; onList(factor: number): void; onPercent(percent: number): void };

/** Changes all chosen prices at once: from the list price, or by a share. */
function BulkChange({ count, onList, onPercent }: BulkChangeProps) {
  const { t, i18n } = useTranslation();
  const [factor, setFactor] = useState('1.3');
  const [percent, setPercent] = useState('10');
  const [times, share] = [toNumber(factor), toNumber(percent)];
  return (
    <Group gap="sm" align="end">
      <Group gap="xs" align="end" wrap="nowrap">
        <DecimalField label={t('sheet.factor')} value={factor} onChange={setFactor} w={90} />
        <Button variant="default" disabled={count === 0 || times === null} onClick={() => onList(times ?? 1)}>
          {t('sheet.applyList', { factor: writeDecimal(factor, i18n.language) })}
        </Button>
      </Group>
      <Group gap="xs" align="end" wrap="nowrap">
        <DecimalField label={t('sheet.percent')} value={percent} onChange={setPercent} w={90} />
        <Button variant="default" disabled={count === 0 || share === null} onClick={() => onPercent(share ?? 0)}>
          {t('sheet.applyPercent', {
            percent: `${(share ?? 0) > 0 ? '+' : ''}${writeDecimal(percent, i18n.language)}`,
          })}
        </Button>
      </Group>
      <Text size="sm" c="dimmed" lh="36px" aria-live="polite">
        {t('sheet.chosen', { number: count })}
      </Text>
    </Group>
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
  const { t } = useTranslation();
  const format = useFormat();
  const words = usePriceWords();
  const { plugin, model, forms } = row;
  const formName = useFormName(plugin.facts);
  const form = forms.find(({ id }) => id === draft.form);
  const list = model.list_price;
  const units = Object.fromEntries(plugin.facts.map(({ name, unit }) => [name, unit]));
  const margin = findMargin(draft, row);
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
        <Anchor component={Link} to={`/prices/${plugin.plugin_key}`} size="xs" c="dimmed" display="block">
          {plugin.plugin_name}
        </Anchor>
      </th>
      <td className={classes.unit} data-label={t('sheet.unit')}>
        {form === undefined ? t('prices.table.expression') : formName(form)}
      </td>
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
            {(form.by?.values ?? [plainAmount]).map((value) => (
              <MoneyField
                key={value}
                size="xs"
                {...(value === plainAmount ? {} : { label: value })}
                aria-label={[t('prices.table.amountOf', { model: model.model }), value].filter(Boolean).join(', ')}
                value={draft.amounts[value] ?? ''}
                onChange={(amount) => onChange({ ...draft, amounts: { ...draft.amounts, [value]: amount } })}
              />
            ))}
          </div>
        )}
      </td>
      <td className={classes.unit} data-label={t('sheet.list')}>
        {list === null
          ? '–'
          : list.summary === null
            ? list.expression
            : words(list.summary, units, readLabels(plugin.facts)).short}
      </td>
      <td data-numeric data-label={t('sheet.margin')} data-bad={(margin !== null && margin < 0) || undefined}>
        {margin === null ? '–' : format.percent(margin)}
      </td>
      <td data-numeric data-label={t('sheet.revenue')}>
        {model.revenue === 0 ? '–' : format.money(model.revenue)}
      </td>
    </tr>
  );
}
