import { ActionIcon, Menu, Select, Text } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Option, Price, PriceSheet } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation, useApiQuery, withQuery } from '../../session/use-api.ts';
import { NoMatches } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { FilterBar, SearchField } from '../../ui/form/filter-bar.tsx';
import { useDebouncedFilter, useFilters } from '../../ui/form/use-filters.ts';
import { type Column, DataTable, RowButton } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import type { PriceSubject } from './price-dialog.tsx';
import { compareWithList, listForms, toDraft } from './price-draft.ts';
import { useMarginText, usePriceParts, usePriceText } from './price-text.ts';
import classes from './prices.module.css';
import { useAllPrices } from './use-prices.ts';

const problems: Record<NonNullable<Price['problem']>['code'], TextKey> = {
  unreadable: 'prices.problem.unreadable',
  plugin_gone: 'prices.problem.plugin_gone',
  model_gone: 'prices.problem.model_gone',
  facts_gone: 'prices.problem.facts_gone',
};

/** What becomes of a model without a price, by the setting. */
const unpricedTexts: Readonly<Record<string, TextKey>> = {
  everyone: 'prices.deleteText.everyone',
  admins: 'prices.deleteText.admins',
  nobody: 'prices.deleteText.nobody',
};

const filterNames = ['q', 'sort'] as const;
const pageSize = 20;

type PriceListProps = {
  /** What the plugin of a key is called. */
  toName(key: string): string;
  onEdit(subject: PriceSubject): void;
  /** Shown while there is no price. */
  empty: ReactNode;
};

/** All prices, searched and sorted, with what the vendor asks and what came in. */
export function PriceList({ toName, onEdit, empty }: PriceListProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const say = usePriceText();
  const { remove, ask } = useRemoval();
  const results = useResults();
  const filters = useFilters(filterNames);
  const { q, sort } = filters.values;
  const search = useDebouncedFilter(q, (text) => filters.set('q', text));
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = ({ model, plugin_key: key }: Price): boolean => {
    const text = `${model} ${key} ${toName(key)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const byModel = (a: Price, b: Price): number =>
    a.model < b.model ? -1 : a.model > b.model ? 1 : a.plugin_key < b.plugin_key ? -1 : 1;
  /** The largest first. Prices of which it is not known come last. */
  const rank: Readonly<Record<string, (price: Price) => number | null | undefined>> = {
    revenue: (price) => results.find(price)?.revenue,
    margin: (price) => results.find(price)?.least,
    changed: ({ updated_at: at }) => at,
  };
  const order = rank[sort];
  const compare = (a: Price, b: Price): number =>
    (order ? (order(b) ?? Number.NEGATIVE_INFINITY) - (order(a) ?? Number.NEGATIVE_INFINITY) || 0 : 0) || byModel(a, b);
  const prices = useAllPrices((all) => {
    const found = all.filter(isFound).sort(compare);
    const page = Math.max(1, Math.min(filters.page, Math.ceil(found.length / pageSize)));
    const items = found.slice((page - 1) * pageSize, page * pageSize);
    return { page, page_size: pageSize, total: found.length, items, all: all.length };
  });

  const edit = ({ plugin_key: pluginKey, model, expression, summary }: Price): void =>
    onEdit({ pluginKey, model, expression, summary });
  const actions = (price: Price) => (
    <PriceMenu model={price.model} onEdit={() => edit(price)} onDelete={() => void ask(price)} />
  );
  /** The margin and the revenue of a price, for its row on a phone. */
  const describeResult = (price: Price): string[] => {
    const found = results.find(price);
    return [
      found?.margin ? `${t('sheet.margin')} ${found.margin}` : '',
      found?.revenue ? t('prices.revenueOf', { amount: format.money(found.revenue) }) : '',
    ];
  };
  const brief = (price: Price) => (
    <RowBrief
      name={price.model}
      onPress={() => edit(price)}
      state={price.problem && <StatusLabel tone="bad">{t(problems[price.problem.code])}</StatusLabel>}
      figure={<Text size="xs" c="dimmed" children={toName(price.plugin_key)} />}
      facts={[price.problem === null ? say(price.summary, price.facts) : '', ...describeResult(price)]}
      wraps
      actions={actions(price)}
    />
  );
  const columns = useColumns({ toName, results, edit, actions });
  return (
    <div>
      {remove.isError && <ErrorNotice error={remove.error} />}
      {(prices.data?.all ?? 0) > 1 && (
        <FilterBar search={<SearchField label={t('app.search')} placeholder={t('models.search')} {...search} />}>
          <Select
            label={t('users.sort')}
            allowDeselect={false}
            data={[
              { value: '', label: t('prices.model') },
              { value: 'revenue', label: t('sheet.revenue') },
              { value: 'margin', label: t('sheet.margin') },
              { value: 'changed', label: t('prices.changed') },
            ]}
            value={sort}
            onChange={(value) => filters.set('sort', value ?? '')}
          />
        </FilterBar>
      )}
      <DataTable
        label={t('nav.prices')}
        query={prices}
        columns={columns}
        rowKey={({ plugin_key: key, model }) => `${key} ${model}`}
        brief={brief}
        empty={prices.data?.all === 0 ? empty : <NoMatches text={t('prices.noneText')} onClear={filters.clear} />}
        onPage={filters.setPage}
      />
    </div>
  );
}

type Results = ReturnType<typeof useResults>;

/** What the vendor asks, what is left above it, and what came in, by price. */
function useResults() {
  const toParts = usePriceParts();
  const formatMargin = useMarginText();
  const sheet = useApiQuery<PriceSheet>('/api/price/sheet');
  return {
    find(price: Price) {
      const plugin = sheet.data?.find((each) => each.plugin_key === price.plugin_key);
      const row = plugin?.models.find((each) => each.model === price.model);
      if (plugin === undefined || row === undefined) return null;
      const { list_price: list, revenue } = row;
      const forms = listForms(plugin.facts);
      const tiers = compareWithList(toDraft(price, forms), list, forms);
      const margins = [...tiers.values()].flatMap(({ margin }) => margin ?? []);
      return {
        list: list === null ? null : toParts(list.summary, plugin.facts),
        margin: formatMargin(tiers),
        /** The least of its margins. */
        least: margins.length === 0 ? null : Math.min(...margins),
        revenue,
      };
    },
  };
}

/** Deletes a price, after it has said who may then use the model. */
function useRemoval() {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const session = useSession();
  const prices = useAllPrices();
  const remove = useApiMutation<Price>({
    request: ({ plugin_key: key, model }) => ({
      method: 'DELETE',
      path: withQuery('/api/price', { plugin_key: key, model }),
    }),
    invalidates: ['/api/price', '/api/model', '/api/attention'],
    onSuccess: (_answer, { model }) => notifySuccess(t('prices.deleted', { model })),
  });
  const ask = async (price: Price): Promise<void> => {
    const { model, plugin_key: key } = price;
    const common = prices.data?.some((each) => each.plugin_key === '*' && each.model === model);
    // A setting decides who may run a model that has no price.
    const options = await session.send<Option[]>({ method: 'GET', path: '/api/option' }).catch(() => []);
    const unpriced = options.find((option) => option.key === 'billing.unpriced')?.value;
    const after = key !== '*' && common ? 'prices.deleteText.common' : unpricedTexts[String(unpriced)];
    const text = `${t(after ?? 'prices.deleteText.unknown', { model })} ${t('prices.deleteText')}`;
    const isConfirmed = await confirm({
      title: t('prices.deleteTitle', { model }),
      text,
      action: t('prices.delete'),
    });
    if (isConfirmed) remove.mutate(price);
  };
  return { remove, ask };
}

type ColumnsOf = Pick<PriceListProps, 'toName'> & {
  results: Results;
  edit(price: Price): void;
  actions(price: Price): ReactNode;
};

function useColumns({ toName, results, edit, actions }: ColumnsOf): readonly Column<Price>[] {
  const { t } = useTranslation();
  const format = useFormat();
  const toParts = usePriceParts();
  return [
    {
      key: 'model',
      heading: t('prices.model'),
      render: (price) => (
        <>
          <RowButton className={classes.model ?? ''} onPress={() => edit(price)}>
            {price.model}
          </RowButton>
          <Text size="xs" c="dimmed">
            {toName(price.plugin_key)}
          </Text>
        </>
      ),
    },
    {
      key: 'price',
      heading: t('sheet.price'),
      wide: true,
      render: ({ summary, facts, problem }) => (
        <>
          <PriceCell parts={toParts(summary, facts)} />
          {problem !== null && (
            <Text size="xs" mt={4} component="div">
              <StatusLabel tone="bad">{t(problems[problem.code])}</StatusLabel>
            </Text>
          )}
        </>
      ),
    },
    {
      key: 'list',
      heading: t('prices.listPrice'),
      minor: true,
      render: (price) => {
        const list = results.find(price)?.list;
        return list ? <PriceCell parts={list} /> : '–';
      },
    },
    {
      key: 'margin',
      heading: t('sheet.margin'),
      numeric: true,
      render: (price) => results.find(price)?.margin ?? '–',
    },
    {
      key: 'revenue',
      heading: t('sheet.revenue'),
      numeric: true,
      render: (price) => {
        const revenue = results.find(price)?.revenue ?? 0;
        return revenue === 0 ? '–' : format.money(revenue);
      },
    },
    {
      key: 'at',
      minor: true,
      numeric: true,
      heading: t('prices.changed'),
      render: ({ updated_at: at }) => <span title={format.time(at)}>{format.ago(at)}</span>,
    },
    { key: 'actions', heading: t('table.actions'), actions: true, render: actions },
  ];
}

type PriceMenuProps = { model: string; onEdit(): void; onDelete(): void };

function PriceMenu({ model, onEdit, onDelete }: PriceMenuProps) {
  const { t } = useTranslation();
  return (
    // The frame of the table would cut it off.
    <Menu width={180} position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size={34} aria-label={t('keys.actionsOf', { name: model })}>
          <IconDots size={18} stroke={1.6} aria-hidden="true" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={onEdit}>{t('app.edit')}</Menu.Item>
        <Menu.Divider />
        <Menu.Item c="red" onClick={onDelete}>
          {t('app.delete')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** A price, and below it what it depends on. */
function PriceCell({ parts: [price, name] }: { parts: readonly [string, string] }) {
  const { t } = useTranslation();
  return (
    <>
      <Text span inherit className={classes.whole}>
        {price}
      </Text>
      {name !== '' && (
        <Text size="xs" c="dimmed">
          {t('prices.by', { name })}
        </Text>
      )}
    </>
  );
}
