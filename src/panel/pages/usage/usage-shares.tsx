import { Anchor, SegmentedControl, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { UsageReport } from '../../api/types.ts';
import { type Column, PlainTable } from '../../ui/display/data-table.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import classes from './usage.module.css';
import type { Dimension, UsageFilterName, UsageFilters } from './use-usage-filters.ts';

type Share = UsageReport['shares'][number];
type Narrow = Partial<Record<UsageFilterName, string>>;

/** Who or what the spend went to; a row narrows the page to itself. */
export function UsageShares({ report, filters }: { report: UsageReport; filters: UsageFilters }) {
  const { t } = useTranslation();
  const { by, choices, set, setAll } = filters;
  return (
    <Section
      heading={t(`usage.by.${by}`)}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t('usage.breakdown')}
          value={by}
          onChange={(next) => set('by', next)}
          data={choices.map((name) => ({ value: name, label: t(`usage.dimension.${name}`) }))}
        />
      }
    >
      <ShareTable report={report} by={by} onNarrow={(narrow) => setAll({ ...narrow, by: '' })} />
    </Section>
  );
}

type ShareTableProps = {
  report: UsageReport;
  by: Dimension;
  /** Without it the rows lead nowhere. */
  onNarrow?(narrow: Narrow): void;
};

export function ShareTable({ report: { shares, others, totals }, by, onNarrow }: ShareTableProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const nameOf = useShareName(by);
  const money = format.moneyLike([...shares.map(({ spend }) => spend), others.spend]);
  const part = (spend: number): string => format.percentInColumn(totals.spend === 0 ? 0 : spend / totals.spend);
  const columns: readonly Column<Share>[] = [
    {
      key: 'name',
      heading: t(`usage.dimension.${by}`),
      render: (share) => {
        const narrow = narrowTo(by, share);
        if (narrow === null || onNarrow === undefined) return <span className={classes.name}>{nameOf(share)}</span>;
        return (
          <Anchor component="button" type="button" inherit className={classes.name} onClick={() => onNarrow(narrow)}>
            {nameOf(share)}
          </Anchor>
        );
      },
    },
    { key: 'ok', heading: t('usage.finished'), numeric: true, render: (row) => format.number(row.succeeded) },
    { key: 'bad', heading: t('usage.failed'), numeric: true, render: (row) => format.number(row.failed) },
    { key: 'spend', heading: t('usage.spent'), numeric: true, render: ({ spend }) => money(spend) },
    { key: 'share', heading: t('usage.share'), numeric: true, render: ({ spend }) => part(spend) },
  ];
  return (
    <>
      <PlainTable
        label={t(`usage.by.${by}`)}
        rows={shares}
        rowKey={({ id, plugin_key, model }) => `${id}/${plugin_key}/${model}`}
        columns={columns}
      />
      {others.shares > 0 && (
        <Text size="sm" c="dimmed">
          {t('usage.others', { count: others.shares, spend: money(others.spend), share: part(others.spend) })}
        </Text>
      )}
    </>
  );
}

function useShareName(by: Dimension): (share: Share) => string {
  const { t } = useTranslation();
  return ({ id, name, model }) => {
    if (by === 'model') return model;
    if (id === -1) return t('usage.unknown');
    if (by === 'key' && id === 0) return t('usage.noKey');
    return name ?? t('usage.deleted', { id });
  };
}

function narrowTo(by: Dimension, { id, plugin_key: plugin, model }: Share): Narrow | null {
  if (by === 'model') return { plugin, model };
  if (id === -1) return null;
  if (by === 'user') return { user: String(id), scope: '' };
  return by === 'key' ? { key: String(id) } : { channel: String(id) };
}
