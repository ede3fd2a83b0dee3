import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { localise } from '../../i18n/localise.ts';
import { useFormat } from '../../ui/display/use-format.ts';

export type UsageLabels = {
  /** The plugin's description of a billed quantity; empty if it has none. */
  describe(name: string): string;
  /** The value with its unit. */
  format(name: string, value: unknown): string;
};

/** Labels for billed quantities from the plugin's schema, while the user may use its model. */
export function useUsageLabels(pluginKey: string, model: string): UsageLabels {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const { data } = useApiQuery<CallableModel[]>('/api/model');
  const fields = data?.find((offer) => offer.plugin_key === pluginKey && offer.model === model)?.schema.properties;
  return {
    describe: (name) => localise(fields?.[name]?.['x-description'], i18n.language),
    format: (name, value) => {
      if (typeof value === 'boolean') return t(value ? 'app.yes' : 'app.no');
      if (typeof value === 'number') {
        return fields?.[name]?.['x-unit'] === 'second' ? format.duration(value) : format.number(value);
      }
      return String(value);
    },
  };
}
