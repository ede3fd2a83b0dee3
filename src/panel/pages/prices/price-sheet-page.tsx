import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PriceSheet } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { toNumber } from '../../ui/form/decimal.ts';
import { DecimalField } from '../../ui/form/decimal-field.tsx';
import { SearchField } from '../../ui/form/filter-bar.tsx';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PriceChanges } from './price-changes.tsx';
import { scaleDraft, toDraft } from './price-draft.ts';
import classes from './price-sheet.module.css';
import { PriceTable } from './price-table.tsx';
import { listPriceRows, usePriceDrafts } from './use-price-drafts.ts';

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

/** Rows that are drawn at once. */
const rowsAtOnce = 200;

function Sheet({ plugins }: { plugins: PriceSheet }) {
  const { t } = useTranslation();
  const [query, setQuery] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const all = listPriceRows(plugins);
  const drafts = usePriceDrafts(all);
  const words = query.trim().toLowerCase().split(/\s+/);
  const inUse = all.filter(({ model }) => model.offered || model.price !== null);
  const isShort = query.trim() === '' && inUse.length > 0 && inUse.length < all.length;
  const rows = (isShort ? inUse : all)
    .filter(({ id, plugin }) => words.every((word) => `${id} ${plugin.plugin_name}`.toLowerCase().includes(word)))
    .slice(0, rowsAtOnce);
  const selected = all.filter(({ id }) => chosen.has(id));
  return (
    <>
      {drafts.error !== null && <ErrorNotice error={drafts.error} />}
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
            drafts.change(selected, ({ model, forms }) =>
              model.list_price === null ? null : scaleDraft(toDraft(model.list_price, forms), factor),
            )
          }
          onPercent={(percent) => drafts.change(selected, (row) => scaleDraft(drafts.read(row), 1 + percent / 100))}
        />
      </Stack>
      <PriceTable label={t('sheet.title')} rows={rows} drafts={drafts} chosen={{ ids: chosen, set: setChosen }} />
      <PriceChanges drafts={drafts} />
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
