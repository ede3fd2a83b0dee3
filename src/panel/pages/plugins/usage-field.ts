import type { TFunction } from 'i18next';
import type { PluginSummary } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';

export type UsageField = NonNullable<NonNullable<PluginSummary['meta']>['usageSchema']>[string];

const units: Readonly<Record<string, TextKey>> = {
  second: 'plugins.unit.second',
  count: 'plugins.unit.count',
  token: 'plugins.unit.token',
  credit: 'plugins.unit.credit',
};

/** The values of a usage fact in words. */
export function usageFieldLabel(field: UsageField, t: TFunction): string {
  if ('enum' in field) return t('plugins.unit.enum', { values: field.enum.join(', ') });
  if (field.type === 'boolean') return t('plugins.unit.boolean');
  const unit = units[field.unit];
  return unit === undefined ? field.unit : t(unit);
}
