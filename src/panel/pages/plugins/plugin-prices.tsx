import { Button, Code, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PluginSummary, Price } from '../../api/types.ts';
import { type Column, PlainTable } from '../../ui/display/data-table.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { Section } from '../../ui/page/section.tsx';
import { PriceDialog, type PriceSubject } from '../prices/price-dialog.tsx';
import { useAllPrices } from '../prices/use-all-prices.ts';

type Row = { model: string; price: Price | undefined };

/** The price of each model of a plugin, and the models without one. */
export function PluginPrices({ plugin }: { plugin: PluginSummary }) {
  const { t } = useTranslation();
  const prices = useAllPrices();
  const [subject, setSubject] = useState<PriceSubject | null>(null);
  const columns: readonly Column<Row>[] = [
    { key: 'model', heading: t('prices.model'), render: ({ model }) => <strong>{model}</strong> },
    {
      key: 'expression',
      heading: t('prices.expression'),
      wide: true,
      render: ({ price }) =>
        price === undefined ? (
          <StatusLabel tone="waiting">{t('prices.missing')}</StatusLabel>
        ) : (
          <Code>{price.expression}</Code>
        ),
    },
    {
      key: 'applies',
      heading: t('prices.appliesTo'),
      render: ({ price }) =>
        price === undefined ? '–' : t(price.plugin_key === '*' ? 'prices.everyPlugin' : 'prices.thisPlugin'),
    },
    {
      key: 'actions',
      heading: t('table.actions'),
      actions: true,
      render: ({ model, price }) => (
        <Button
          variant="light"
          size="xs"
          onClick={() => setSubject({ pluginKey: plugin.key, model, expression: price?.expression ?? '' })}
        >
          {t(price === undefined ? 'prices.set' : 'app.edit')}
        </Button>
      ),
    },
  ];
  return (
    <Section heading={t('plugins.tab.prices')} intro={t('prices.pluginIntro')}>
      <QueryResult query={prices}>
        {(all) => {
          const find = (model: string, owner: string): Price | undefined =>
            all.find((price) => price.model === model && price.plugin_key === owner);
          const rows = (plugin.meta?.models ?? []).map((model) => ({
            model,
            price: find(model, plugin.key) ?? find(model, '*'),
          }));
          return rows.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t('prices.noModels')}
            </Text>
          ) : (
            <PlainTable label={t('plugins.tab.prices')} columns={columns} rows={rows} rowKey={({ model }) => model} />
          );
        }}
      </QueryResult>
      <PriceDialog subject={subject} onClose={() => setSubject(null)} />
    </Section>
  );
}
