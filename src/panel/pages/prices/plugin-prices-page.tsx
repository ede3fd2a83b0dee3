import { Alert, Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import type { PluginPrices } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { ResourceNotFound } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useUnsavedChanges } from '../../ui/form/unsaved-changes.tsx';
import { BackLink, ExternalLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { playgroundPath } from '../plugins/plugin-paths.ts';
import { isEmptyDraft, listForms, type PriceDraft, toDraft, toExpression } from './price-draft.ts';
import { PriceReplay } from './price-replay.tsx';
import { PriceRow } from './price-row.tsx';
import classes from './prices.module.css';
import { useSavePrices } from './use-prices.ts';

/** `/prices/:key`: the prices of all models of a plugin in one table. */
export function PluginPricesPage() {
  const { t } = useTranslation();
  const { key = '' } = useParams();
  const prices = useApiQuery<PluginPrices>(`/api/price/plugin/${encodeURIComponent(key)}`, { keepPrevious: false });
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
        {(data) => <PriceTable key={data.plugin_key} prices={data} />}
      </QueryResult>
    </Page>
  );
}

type Change = { plugin_key: string; model: string; expression: string };
type Drafts = Readonly<Record<string, PriceDraft>>;

function PriceTable({ prices }: { prices: PluginPrices }) {
  const { t } = useTranslation();
  const format = useFormat();
  const forms = listForms(prices.facts);
  const [drafts, setDrafts] = useState<Drafts>({});
  const [isChecked, setChecked] = useState(false);
  const readDraft = (row: PluginPrices['models'][number]): PriceDraft => drafts[row.model] ?? toDraft(row.price, forms);
  const edited = prices.models.filter((row) => drafts[row.model] !== undefined && !isEmptyDraft(readDraft(row)));
  const changes = edited.flatMap((row): Change[] => {
    const expression = toExpression(readDraft(row), forms);
    return expression === null || expression === row.price?.expression
      ? []
      : [{ plugin_key: prices.plugin_key, model: row.model, expression }];
  });
  const incomplete = new Set(
    edited.filter((row) => toExpression(readDraft(row), forms) === null).map(({ model }) => model),
  );
  const save = useSavePrices(() => {
    setDrafts({});
    setChecked(false);
  });
  useUnsavedChanges(() => edited.length > 0 && !save.isPending);

  const listed = prices.models.filter(({ list_price: list, price }) => list !== null && price === null);
  const takeListPrices = (rows: PluginPrices['models']): void =>
    setDrafts((before) => ({
      ...before,
      ...Object.fromEntries(rows.map((row) => [row.model, toDraft(row.list_price, forms)])),
    }));
  const firstUnpriced = prices.models.find(({ price }) => price === null)?.model;
  const tried = prices.models.find(({ offered, price }) => offered && price !== null);
  const copied = edited[0] ?? prices.models.find(({ price }) => price !== null);
  const copies =
    copied !== undefined && toExpression(readDraft(copied), forms) !== null && prices.models.length > 1
      ? () => setDrafts(Object.fromEntries(prices.models.map(({ model }) => [model, readDraft(copied)])))
      : undefined;

  return (
    <>
      {save.isSuccess && edited.length === 0 && tried !== undefined && (
        <Alert color="gate" variant="light" title={t('prices.table.done')}>
          <Button component={Link} to={playgroundPath(prices.plugin_key, tried.model)} mt={4}>
            {t('channels.start.try')}
          </Button>
        </Alert>
      )}
      {save.isError && <ErrorNotice error={save.error} />}
      <Section
        heading={t('prices.table.models')}
        intro={
          prices.list_prices !== null && (
            <>
              {prices.list_prices.as_of === null
                ? t('prices.table.listHint')
                : t('prices.table.listHintOf', { date: format.date(Date.parse(prices.list_prices.as_of) / 1000) })}{' '}
              {prices.list_prices.url !== null && (
                <ExternalLink address={prices.list_prices.url} name={t('prices.table.listPage')} />
              )}
            </>
          )
        }
        actions={
          listed.length > 0 && (
            <Button variant="default" onClick={() => takeListPrices(listed)}>
              {t('prices.table.takeAll')}
            </Button>
          )
        }
      >
        <ul className={classes.rows}>
          {prices.models.map((row) => (
            <PriceRow
              key={row.model}
              row={row}
              forms={forms}
              facts={prices.facts}
              draft={readDraft(row)}
              isIncomplete={isChecked && incomplete.has(row.model)}
              hasFocus={row.model === firstUnpriced}
              onChange={(draft) => setDrafts((before) => ({ ...before, [row.model]: draft }))}
              onTakeListPrice={() => takeListPrices([row])}
              onCopy={row === copied ? copies : undefined}
            />
          ))}
        </ul>
        {isChecked && incomplete.size > 0 && (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {t('prices.table.incomplete')}
          </Text>
        )}
        {changes.length > 0 && incomplete.size === 0 && <PriceReplay tried={{ prices: changes }} />}
        <Group justify="flex-end" gap="md">
          <Button
            loading={save.isPending}
            disabled={edited.length === 0}
            onClick={() => {
              setChecked(true);
              if (incomplete.size === 0) save.mutate(changes);
            }}
          >
            {changes.length === 0 ? t('app.save') : t('prices.table.save', { count: changes.length })}
          </Button>
        </Group>
      </Section>
    </>
  );
}
