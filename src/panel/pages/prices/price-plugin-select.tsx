import { Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { PluginSummary } from '../../api/types.ts';

type PluginChoiceProps = { plugins: readonly PluginSummary[]; value: string; onChange(key: string): void };

/** One plugin, or every one that has the model. */
export function PluginChoice({ plugins, value, onChange }: PluginChoiceProps) {
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
