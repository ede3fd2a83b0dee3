import { ActionIcon, SegmentedControl, Text } from '@mantine/core';
import { IconLayoutGrid, IconList } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallableModel, ModelCard as Model, ModelCatalog, ModelResult } from '../../api/types.ts';
import { useApiQuery, useReadAhead } from '../../session/use-api.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { SearchField } from '../../ui/form/filter-bar.tsx';
import { type Filters, useFilters } from '../../ui/form/use-filters.ts';
import { NoModels } from '../../ui/page/no-models.tsx';
import { Page } from '../../ui/page/page.tsx';
import { ModelCard } from './model-card.tsx';
import { offersPath } from './model-code.tsx';
import { ModelTable } from './model-table.tsx';
import classes from './models.module.css';
import { findModelMedium, type ModelMedium, mediumTexts, modelKey, sortModels } from './read-model.ts';

/** `/models`: the models that the user may call, with what each costs and how it does. */
export function ModelsPage() {
  const { t } = useTranslation();
  const catalog = useApiQuery<ModelCatalog>('/api/model/catalog');
  const filters = useFilters(filterNames);
  useReadAhead(resultsPath, offersPath);
  const count = catalog.data?.items.length ?? 0;
  return (
    <Page
      heading={t('nav.models')}
      intro={t('models.intro')}
      {...(count > 1 ? { actions: <LayoutSwitch filters={filters} isOfFew={count < searchFrom} /> } : {})}
    >
      <QueryResult query={catalog}>
        {({ items, total }) =>
          items.length === 0 ? <NoModels /> : <Models models={items} hidden={total - items.length} filters={filters} />
        }
      </QueryResult>
    </Page>
  );
}

/** With fewer than this nobody needs a search. */
const searchFrom = 9;
/** What is drawn at once: a page of hundreds of cards is slow to paint, and nobody reads it. */
const shownAtOnce = { cards: 60, rows: 200 };

const resultsPath = '/api/model/results';

/** The latest result of each model: what it looks like says more than its name. */
function useLatestResults(): ReadonlyMap<string, ModelResult> {
  const { data = [] } = useApiQuery<ModelResult[]>(resultsPath);
  return new Map(data.map((result) => [modelKey({ plugin_key: result.platform, model: result.model }), result]));
}

const filterNames = ['layout', 'sort'] as const;
type ModelFilters = Filters<(typeof filterNames)[number]>;

/** Between the cards and the list. */
function LayoutSwitch({ filters, isOfFew }: { filters: ModelFilters; isOfFew: boolean }) {
  const { t } = useTranslation();
  const isList = filters.values.layout === 'list';
  const label = t(isList ? 'models.asCards' : 'tasks.asList');
  return (
    <ActionIcon
      variant="default"
      size={36}
      className={classes.layout ?? ''}
      data-few={isOfFew || undefined}
      aria-label={label}
      title={label}
      onClick={() => filters.set('layout', isList ? '' : 'list')}
    >
      {isList ? <IconLayoutGrid size={18} stroke={1.6} /> : <IconList size={18} stroke={1.6} />}
    </ActionIcon>
  );
}

type ModelsProps = {
  models: readonly Model[];
  /** Further ones, which the gateway does not list. */
  hidden: number;
  filters: ModelFilters;
};

/** The models as cards or, for those who have many, as a list; how is part of the URL. */
function Models({ models, hidden, filters }: ModelsProps) {
  const { t } = useTranslation();
  const [query, setQuery] = useState('');
  const [medium, setMedium] = useState<ModelMedium | ''>('');
  const isList = filters.values.layout === 'list';
  const results = useLatestResults();
  const { data: offers } = useApiQuery<CallableModel[]>(offersPath);
  const words = query.trim().toLowerCase().split(/\s+/);
  const media = (Object.keys(mediumTexts) as ModelMedium[]).filter((each) =>
    models.some((model) => findModelMedium(model) === each),
  );
  const found = models.filter((card) => {
    const text = `${card.model} ${card.plugin_name ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word)) && (medium === '' || findModelMedium(card) === medium);
  });
  const shown = isList
    ? sortModels(found, filters.values.sort).slice(0, shownAtOnce.rows)
    : found.slice(0, shownAtOnce.cards);
  const left = found.length - shown.length + hidden;
  return (
    <>
      <div className={classes.filters}>
        {models.length >= searchFrom && (
          <SearchField
            aria-label={t('models.search')}
            placeholder={t('models.search')}
            maw={360}
            value={query}
            onChange={({ currentTarget }) => setQuery(currentTarget.value)}
          />
        )}
        {media.length > 1 && (
          <SegmentedControl
            aria-label={t('models.medium')}
            value={medium}
            onChange={(value) => setMedium(value as ModelMedium | '')}
            data={[
              { value: '', label: t('models.medium.all') },
              ...media.map((each) => ({ value: each, label: t(mediumTexts[each]) })),
            ]}
          />
        )}
      </div>
      {found.length === 0 && <Text c="dimmed">{t('models.notFound')}</Text>}
      {found.length > 0 && isList && (
        <ModelTable
          models={shown}
          results={results}
          sort={filters.values.sort}
          onSort={(sort) => filters.set('sort', sort)}
        />
      )}
      {!isList && (
        <ul className={classes.cards}>
          {shown.map((model) => (
            <ModelCard
              key={modelKey(model)}
              model={model}
              result={results.get(modelKey(model))}
              schema={offers?.find((each) => modelKey(each) === modelKey(model))?.schema}
            />
          ))}
        </ul>
      )}
      {left > 0 && (
        <Text size="sm" c="dimmed">
          {t('models.more', { count: left })}
        </Text>
      )}
    </>
  );
}
