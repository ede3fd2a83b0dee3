import { Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { UsageStats } from '../../api/types.ts';
import { ChartOrTable } from '../../ui/display/chart-or-table.tsx';
import { PlainTable } from '../../ui/display/data-table.tsx';
import { DayBars } from '../../ui/display/day-bars.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { useFormat } from '../../ui/display/use-format.ts';

/** Spending per day, as a chart or a table, and per model. */
export function Spend({ figures }: { figures: UsageStats }) {
  const { t } = useTranslation();
  if (figures.models.length === 0) {
    return <EmptyState heading={t('usage.empty.heading')} text={t('usage.empty.text')} />;
  }
  return (
    <>
      <SpendByDay days={figures.by_day} />
      <SpendByModel models={figures.models} />
    </>
  );
}

function SpendByDay({ days }: { days: UsageStats['by_day'] }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  // The API's days are UTC days.
  const axisDate = new Intl.DateTimeFormat(i18n.language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  const fullDate = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeZone: 'UTC' });
  const toDate = (day: number): Date => new Date(day * 1000);
  const peak = days.reduce((best, day) => (day.spend > best.spend ? day : best), days[0] ?? { day: 0, spend: 0 });
  const total = days.reduce((sum, { spend }) => sum + spend, 0);
  const used = days.filter(({ spend, succeeded, failed }) => spend > 0 || succeeded > 0 || failed > 0);
  return (
    <ChartOrTable
      heading={t('usage.byDay')}
      intro={t('usage.byDay.intro')}
      chart={
        <DayBars
          label={t('usage.byDay.label', {
            total: format.money(total),
            days: days.length,
            most: format.money(peak.spend),
            day: fullDate.format(toDate(peak.day)),
          })}
          series={[{ key: 'value', name: t('usage.spent') }]}
          days={days.map(({ day, spend }) => ({ day: axisDate.format(toDate(day)), value: spend }))}
          format={format.money}
        />
      }
      table={
        <PlainTable
          label={t('usage.byDay')}
          rows={[...used].reverse()}
          rowKey={({ day }) => day}
          columns={[
            { key: 'day', heading: t('usage.day'), render: ({ day }) => fullDate.format(toDate(day)) },
            { key: 'ok', heading: t('usage.finished'), numeric: true, render: (row) => format.number(row.succeeded) },
            { key: 'bad', heading: t('usage.failed'), numeric: true, render: (row) => format.number(row.failed) },
            { key: 'spend', heading: t('usage.spent'), numeric: true, render: ({ spend }) => format.money(spend) },
          ]}
        />
      }
    />
  );
}

function SpendByModel({ models }: { models: UsageStats['models'] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const total = models.reduce((sum, { spend }) => sum + spend, 0);
  const byCost = [...models].sort((a, b) => b.spend - a.spend);
  return (
    <section aria-labelledby="by-model">
      <Title order={2} fz={18} id="by-model" mb={14}>
        {t('usage.byModel')}
      </Title>
      <PlainTable
        label={t('usage.byModel')}
        rows={byCost}
        rowKey={({ plugin_key, model }) => `${plugin_key}/${model}`}
        columns={[
          { key: 'model', heading: t('usage.model'), render: ({ model }) => model },
          { key: 'ok', heading: t('usage.finished'), numeric: true, render: (row) => format.number(row.succeeded) },
          { key: 'bad', heading: t('usage.failed'), numeric: true, render: (row) => format.number(row.failed) },
          { key: 'spend', heading: t('usage.spent'), numeric: true, render: ({ spend }) => format.money(spend) },
          {
            key: 'share',
            heading: t('usage.share'),
            numeric: true,
            render: ({ spend }) => format.percent(total === 0 ? 0 : spend / total),
          },
        ]}
      />
    </section>
  );
}
