import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { UsageReport } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../api/use-api.ts';
import { PlainTable } from '../../ui/display/data-table.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { datesOf, localZone } from '../usage/usage-period.ts';

const shown = 5;
const periods = { '7': '7d', '30': '30d', '90': '90d' } as const;

/** Who spent most; each leads to what they spent it on. */
export function TopSpenders({ days }: { days: keyof typeof periods }) {
  const { t } = useTranslation();
  const format = useFormat();
  const period = periods[days];
  const question = { scope: 'all', by: 'user', ...datesOf(period, new Date()), zone: localZone() };
  const { data } = useApiQuery<UsageReport>(withQuery('/api/usage', question));
  const spenders = data?.shares.filter(({ spend }) => spend > 0).slice(0, shown) ?? [];
  if (data === undefined || spenders.length === 0) return null;
  const money = format.moneyLike(spenders.map(({ spend }) => spend));
  return (
    <Section
      heading={t('home.spenders')}
      actions={
        <Anchor component={Link} to={`/usage?scope=all&period=${period}`} size="sm">
          {t('home.spenders.all')}
        </Anchor>
      }
    >
      <PlainTable
        label={t('home.spenders')}
        rows={spenders}
        rowKey={({ id }) => id}
        columns={[
          {
            key: 'user',
            heading: t('usage.user'),
            render: ({ id, name }) => (
              <Anchor component={Link} to={`/users/${id}?tab=spend&period=${period}`} inherit>
                {name ?? t('usage.deleted', { id })}
              </Anchor>
            ),
          },
          {
            key: 'tasks',
            heading: t('home.slowest.tasks'),
            numeric: true,
            render: ({ succeeded, failed }) => format.number(succeeded + failed),
          },
          { key: 'spend', heading: t('home.spent'), numeric: true, render: ({ spend }) => money(spend) },
          {
            key: 'share',
            heading: t('usage.share'),
            numeric: true,
            render: ({ spend }) => format.percentInColumn(spend / data.totals.spend),
          },
        ]}
      />
    </Section>
  );
}
