import { useTranslation } from 'react-i18next';
import type { UsageStats } from '../../api/types.ts';
import { PlainTable } from '../../ui/display/data-table.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';

type ModelFigures = UsageStats['slowest'][number];

/** Durations and success rates of the slowest models. */
export function SlowestModels({ models }: { models: readonly ModelFigures[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (models.length === 0) return null;
  const inColumn = format.durationLike(
    models.flatMap(({ p50_seconds, p95_seconds }) => [p50_seconds ?? 0, p95_seconds ?? 0]),
  );
  const duration = (seconds: number | null): string => (seconds === null ? '–' : inColumn(seconds));
  return (
    <Section heading={t('home.slowest')} intro={t('home.slowest.intro')}>
      <PlainTable
        label={t('home.slowest')}
        rows={models}
        rowKey={({ plugin_key, model }) => `${plugin_key}/${model}`}
        columns={[
          { key: 'model', heading: t('home.slowest.model'), render: ({ model }) => model },
          {
            key: 'usual',
            heading: t('home.slowest.usual'),
            numeric: true,
            render: ({ p50_seconds }) => duration(p50_seconds),
          },
          {
            key: 'long',
            heading: t('home.slowest.long'),
            numeric: true,
            render: ({ p95_seconds }) => duration(p95_seconds),
          },
          {
            key: 'success',
            heading: t('home.success'),
            numeric: true,
            render: ({ success_rate }) => (success_rate === null ? '–' : format.percentInColumn(success_rate)),
          },
          {
            key: 'tasks',
            heading: t('home.slowest.tasks'),
            numeric: true,
            render: ({ succeeded, failed }) => format.number(succeeded + failed),
          },
        ]}
      />
    </Section>
  );
}
