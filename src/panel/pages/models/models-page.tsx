import { Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ModelCard as Model, ModelCatalog } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { SearchField } from '../../ui/form/search-field.tsx';
import { Page } from '../../ui/page/page.tsx';
import { ModelCard } from './model-card.tsx';
import classes from './models.module.css';

/** `/models`: the models that the user may call, with what each costs and how it does. */
export function ModelsPage() {
  const { t } = useTranslation();
  const catalog = useApiQuery<ModelCatalog>('/api/model/catalog');
  return (
    <Page heading={t('nav.models')} intro={t('models.intro')}>
      <QueryResult query={catalog}>
        {({ items, total }) =>
          items.length === 0 ? (
            <EmptyState heading={t('models.none')} text={t('models.noneText')} />
          ) : (
            <ModelCards models={items} hidden={total - items.length} />
          )
        }
      </QueryResult>
    </Page>
  );
}

/** Below so many nobody needs a search. */
const searchFrom = 9;
/** Cards that are drawn at once: a page of hundreds is slow to paint, and nobody reads it. */
const cardsAtOnce = 60;

function ModelCards({ models, hidden }: { models: readonly Model[]; hidden: number }) {
  const { t } = useTranslation();
  const [query, setQuery] = useState('');
  const words = query.trim().toLowerCase().split(/\s+/);
  const found = models.filter(({ model, plugin_name: plugin }) => {
    const text = `${model} ${plugin ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const shown = found.slice(0, cardsAtOnce);
  const left = found.length - shown.length + hidden;
  return (
    <>
      {models.length >= searchFrom && (
        <SearchField
          aria-label={t('models.search')}
          placeholder={t('models.search')}
          maw={360}
          value={query}
          onChange={({ currentTarget }) => setQuery(currentTarget.value)}
        />
      )}
      {found.length === 0 && <Text c="dimmed">{t('models.notFound')}</Text>}
      <ul className={classes.cards}>
        {shown.map((model) => (
          <ModelCard key={`${model.plugin_key}/${model.model}`} model={model} />
        ))}
      </ul>
      {left > 0 && (
        <Text size="sm" c="dimmed">
          {t('models.more', { count: left })}
        </Text>
      )}
    </>
  );
}
