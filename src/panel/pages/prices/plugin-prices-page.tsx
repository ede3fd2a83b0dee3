import { Alert, Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { playgroundPath, pluginPricesPath } from '../../api/plugin-paths.ts';
import type { PluginPrices } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { ResourceNotFound } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { BackLink, ExternalLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PriceChanges } from './price-changes.tsx';
import { toDraft } from './price-draft.ts';
import { PriceTable } from './price-table.tsx';
import { listPriceRows, type PriceTableRow, usePriceDrafts } from './use-price-drafts.ts';

/** `/prices/:key`: the prices of all models of a plugin. */
export function PluginPricesPage() {
  const { t } = useTranslation();
  const { key = '' } = useParams();
  const prices = useApiQuery<PluginPrices>(pluginPricesPath(key), { keepPrevious: false });
  const name = prices.data?.plugin_name;
  return (
    <Page
      heading={name === undefined ? t('nav.prices') : t('prices.table.heading', { name })}
      intro={t('prices.table.intro')}
      back={<BackLink to="/prices">{t('nav.prices')}</BackLink>}
    >
      <QueryResult
        query={prices}
        notFound={
          <ResourceNotFound
            heading={t('plugins.unknown')}
            text={t('plugins.unknownText', { key })}
            list={{ to: '/prices', name: 'prices.table.all' }}
          />
        }
      >
        {(data) => <PluginPriceTable key={data.plugin_key} prices={data} />}
      </QueryResult>
    </Page>
  );
}

export function PluginPriceTable({ prices }: { prices: PluginPrices }) {
  const { t } = useTranslation();
  const rows = listPriceRows([prices]);
  const drafts = usePriceDrafts(rows);
  const isPriced = ({ model }: PriceTableRow): boolean => model.price !== null;
  const listed = rows.filter((row) => row.model.list_price !== null && !isPriced(row));
  const tried = rows.find((row) => row.model.offered && isPriced(row));
  const copied = drafts.changes[0]?.row ?? rows.find(isPriced);
  return (
    <>
      {drafts.isSaved && tried !== undefined && (
        <Alert color="gate" variant="light" title={t('prices.table.done')}>
          <Button component={Link} to={playgroundPath(prices.plugin_key, tried.model.model)} mt={4}>
            {t('channels.start.try')}
          </Button>
        </Alert>
      )}
      {drafts.error !== null && <ErrorNotice error={drafts.error} />}
      {(prices.list_prices !== null || listed.length > 0) && (
        <Group justify="space-between" gap="sm">
          <ListPriceSource prices={prices} />
          {listed.length > 0 && (
            <Button
              variant="default"
              onClick={() => drafts.change(listed, ({ model, forms }) => toDraft(model.list_price, forms))}
            >
              {t('prices.table.takeAll')}
            </Button>
          )}
        </Group>
      )}
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('prices.noModels')}
        </Text>
      ) : (
        <PriceTable
          isOfPlugin
          label={t('nav.prices')}
          rows={rows}
          drafts={drafts}
          copied={rows.length > 1 ? copied : undefined}
        />
      )}
      <PriceChanges drafts={drafts} />
    </>
  );
}

/** Says where the list prices come from, and how old they are. */
function ListPriceSource({ prices: { list_prices: list } }: { prices: PluginPrices }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (list === null) return null;
  return (
    <Text size="sm" c="dimmed">
      {list.as_of === null
        ? t('prices.table.listHint')
        : t('prices.table.listHintOf', { date: format.date(Date.parse(list.as_of) / 1000) })}{' '}
      {list.url !== null && <ExternalLink address={list.url} name={t('prices.table.listPage')} />}
    </Text>
  );
}
