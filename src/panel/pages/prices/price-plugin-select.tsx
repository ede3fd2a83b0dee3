import { Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { PluginSummary } from '../../api/types.ts';

type PricePluginSelectProps = { plugins: readonly PluginSummary[]; value: string; onChange(key: string): void };

/** One plugin, or every plugin that has the model. */
export function PricePluginSelect({ plugins, value, onChange }: PricePluginSelectProps) {
  const { t } = useTranslation();
  return (
    <Select
      label={t('prices.appliesTo')}
      data={[
        { value: '*', label: t('prices.everyPlugin') },
        ...plugins.map(({ key, meta }) => ({ value: key, label: meta?.name ?? key })),
      ]}
      value={value}
      onChange={(key) => onChange(key ?? '*')}
      allowDeselect={false}
      searchable
      miw={220}
    />
  );
}
