import { SegmentedControl } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Section } from '../page/section.tsx';

type ChartOrTableProps = {
  heading: string;
  intro?: ReactNode;
  chart: ReactNode;
  /** The same figures as a table. */
  table: ReactNode;
};

/** Figures as a chart or as the table behind it. */
export function ChartOrTable({ heading, intro, chart, table }: ChartOrTableProps) {
  const { t } = useTranslation();
  const [shown, setShown] = useState('chart');
  return (
    <Section
      heading={heading}
      {...(intro === undefined ? {} : { intro })}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t('chart.as', { heading })}
          value={shown}
          onChange={setShown}
          data={[
            { value: 'chart', label: t('chart.chart') },
            { value: 'table', label: t('chart.table') },
          ]}
        />
      }
    >
      {shown === 'chart' ? chart : table}
    </Section>
  );
}
