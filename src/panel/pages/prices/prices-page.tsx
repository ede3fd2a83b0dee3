import { ActionIcon, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Option, PluginSummary, Price, PriceSheet, UnpricedPluginModels } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation, useApiQuery, useLocalisedQuery, withQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { useFilters } from '../../ui/form/use-filters.ts';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { BriefText, RowBrief } from '../../ui/table/row-brief.tsx';
import { PriceDialog, type PriceSubject } from './price-dialog.tsx';
import { compareWithList, listForms, toDraft } from './price-draft.ts';
import { useMarginText, usePriceParts, usePriceText } from './price-text.ts';
import classes from './prices.module.css';
import type { PriceList } from './use-prices.ts';

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

/** The prices of all models, and the models without one. */
export function PricesPage() {
  const { t } = useTranslation();
  const format = useFormat();
  const confirm = useConfirm();
  const say = usePriceText();
  const toParts = usePriceParts();
  const sayMargin = useMarginText();
  const session = useSession();
  // What the vendor asks and what came in stand beside each price.
  const sheet = useApiQuery<PriceSheet>('/api/price/sheet');
  const { page, setPage } = useFilters([]);
  const prices = useApiQuery<PriceList>(withQuery('/api/price', { page }));
  const plugins = useLocalisedQuery<PluginSummary[]>('/api/plugin/task');
  const [subject, setSubject] = useState<PriceSubject | null>(null);
  const remove = useApiMutation<Price>({
    request: ({ plugin_key: key, model }) => ({
      method: 'DELETE',
      path: withQuery('/api/price', { plugin_key: key, model }),
    }),
    invalidates: ['/api/price', '/api/model', '/api/attention'],
    onSuccess: (_answer, { model }) => notifySuccess(t('prices.deleted', { model })),
  });
  const toName = (key: string): string =>
    key === '*' ? t('prices.everyPlugin') : (plugins.data?.find((each) => each.key === key)?.meta?.name ?? key);
  const ask = async (price: Price): Promise<void> => {
    const { model, plugin_key: key } = price;
    const common = prices.data?.items.some((each) => each.plugin_key === '*' && each.model === model);
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
  const edit = ({ plugin_key: pluginKey, model, expression, summary }: Price): void =>
    setSubject({ pluginKey, model, expression, summary });
  const findOnSheet = (price: Price) => {
    const plugin = sheet.data?.find((each) => each.plugin_key === price.plugin_key);
    const row = plugin?.models.find((each) => each.model === price.model);
    if (plugin === undefined || row === undefined) return null;
    const { list_price: list, revenue } = row;
    const forms = listForms(plugin.facts);
    return {
      list: list === null ? null : toParts(list.summary, plugin.facts),
      margin: sayMargin(compareWithList(toDraft(price, forms), list, forms)),
      revenue,
    };
  };

  /** The margin and the revenue of a price, for its row on a phone. */
  const sayResult = (price: Price): string => {
    const found = findOnSheet(price);
    return [
      found?.margin ? `${t('sheet.margin')} ${found.margin}` : '',
      found?.revenue ? t('prices.revenueOf', { amount: format.money(found.revenue) }) : '',
    ]
      .filter(Boolean)
      .join(' · ');
  };

  const change = (price: Price) => (
    <ActionIcon
      variant="subtle"
      color="gray"
      size={32}
      aria-label={t('prices.editName', { model: price.model })}
      onClick={() => edit(price)}
    >
      <IconPencil size={18} stroke={1.6} aria-hidden="true" />
    </ActionIcon>
  );
  const deletion = (price: Price) => (
    <ActionIcon
      variant="subtle"
      color="gray"
      size={32}
      aria-label={t('prices.deleteTitle', { model: price.model })}
      onClick={() => void ask(price)}
    >
      <IconTrash size={18} stroke={1.6} aria-hidden="true" />
    </ActionIcon>
  );
  const brief = (price: Price) => (
    <RowBrief
      name={price.model}
      onPress={() => edit(price)}
      state={
        price.problem === null ? (
          <BriefText>{say(price.summary, price.facts)}</BriefText>
        ) : (
          <StatusLabel tone="bad">{t(problems[price.problem.code])}</StatusLabel>
        )
      }
      figure={<Text size="xs" c="dimmed" children={toName(price.plugin_key)} />}
      facts={[sayResult(price)]}
      wraps
      actions={
        <>
          {change(price)}
          {deletion(price)}
        </>
      }
    />
  );

  const columns: readonly Column<Price>[] = [
    {
      key: 'model',
      heading: t('prices.model'),
      render: ({ model, plugin_key: key }) => (
        <>
          <strong>{model}</strong>
          <Text size="xs" c="dimmed">
            {toName(key)}
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
        const list = findOnSheet(price)?.list;
        return list ? <PriceCell parts={list} /> : '–';
      },
    },
    {
      key: 'margin',
      heading: t('sheet.margin'),
      numeric: true,
      render: (price) => findOnSheet(price)?.margin ?? '–',
    },
    {
      key: 'revenue',
      heading: t('sheet.revenue'),
      numeric: true,
      render: (price) => {
        const revenue = findOnSheet(price)?.revenue ?? 0;
        return revenue === 0 ? '–' : format.money(revenue);
      },
    },
    {
      key: 'at',
      minor: true,
      heading: t('prices.changed'),
      render: ({ updated_at: at }) => <span title={format.time(at)}>{format.ago(at)}</span>,
    },
    {
      key: 'actions',
      heading: t('table.actions'),
      actions: true,
      render: (price) => (
        <>
          {change(price)}
          {deletion(price)}
        </>
      ),
    },
  ];

  const add = (
    <Button
      leftSection={<IconPlus size={18} stroke={1.6} aria-hidden="true" />}
      onClick={() => setSubject({ pluginKey: '*', model: '', expression: '', summary: null })}
    >
      {t('prices.add')}
    </Button>
  );
  return (
    <Page
      heading={t('nav.prices')}
      intro={t('prices.intro')}
      actions={
        <>
          <Button component={Link} to="/prices/sheet" variant="default">
            {t('sheet.open')}
          </Button>
          {prices.data?.total !== 0 && add}
        </>
      }
    >
      <UnpricedModels toName={toName} onSet={setSubject} />
      {remove.isError && <ErrorNotice error={remove.error} />}
      <div>
        <DataTable
          label={t('nav.prices')}
          query={prices}
          columns={columns}
          rowKey={({ plugin_key: key, model }) => `${key} ${model}`}
          brief={brief}
          empty={
            <EmptyState
              heading={t('prices.empty')}
              text={t('prices.emptyText')}
              action={
                <Group gap="md" justify="center">
                  {add}
                  <Anchor component={Link} to="/settings/billing" size="sm">
                    {t('nav.settings')}
                  </Anchor>
                </Group>
              }
            />
          }
          onPage={setPage}
        />
      </div>
      <PriceDialog subject={subject} onClose={() => setSubject(null)} />
    </Page>
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

type UnpricedModelsProps = { toName(key: string): string; onSet(subject: PriceSubject): void };

/** Offered models without a price. Models that no channel offers are left out. */
function UnpricedModels({ toName, onSet }: UnpricedModelsProps) {
  const { t } = useTranslation();
  const unpriced = useApiQuery<UnpricedPluginModels[]>('/api/price/missing');
  const offered = (unpriced.data ?? [])
    .map(({ plugin_key: key, models }) => ({ key, models: models.filter(({ offered }) => offered) }))
    .filter(({ models }) => models.length > 0);
  if (unpriced.isError) return <ErrorNotice error={unpriced.error} />;
  if (offered.length === 0) return null;
  return (
    <Section heading={t('prices.missingHeading')} intro={t('prices.missingIntro')}>
      <Stack gap="md">
        {offered.map(({ key, models }) => (
          <div key={key}>
            <Group justify="space-between" mb={8}>
              <Text size="sm" c="dimmed">
                {toName(key)}
              </Text>
              {key !== '*' && (
                <Anchor component={Link} to={`/prices/${key}`} size="sm">
                  {t('prices.setAll')}
                </Anchor>
              )}
            </Group>
            <div className={classes.missing}>
              {models.map(({ model }) => (
                <Button
                  key={model}
                  variant="default"
                  size="xs"
                  onClick={() => onSet({ pluginKey: key, model, expression: '', summary: null })}
                >
                  {t('prices.setFor', { model })}
                </Button>
              ))}
            </div>
          </div>
        ))}
      </Stack>
    </Section>
  );
}
