import type { TFunction } from 'i18next';
import type { PluginSummary } from '../../api/types.ts';
import { localise, type TextKey } from '../../i18n/texts.ts';

export type UsageField = NonNullable<NonNullable<PluginSummary['meta']>['usageSchema']>[string];

const units: Readonly<Record<string, TextKey>> = {
  second: 'plugins.unit.second',
  count: 'plugins.unit.count',
  token: 'plugins.unit.token',
  credit: 'plugins.unit.credit',
};

/** The values of a usage fact in words: what is counted, where the plugin says so. */
export function usageFieldLabel(field: UsageField, { t, language }: { t: TFunction; language: string }): string {
  if ('enum' in field) return t('plugins.unit.enum', { values: field.enum.join(', ') });
  if (field.type === 'boolean') return t('plugins.unit.boolean');
  const counted = localise(field.unitLabel, language);
  if (counted !== '') return t('plugins.unit.counted', { what: counted });
  const unit = units[field.unit];
  return unit === undefined ? field.unit : t(unit);
}
