import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';

/** Unix seconds as the label of an axis and of a table, in the reader's time zone. */
export function useChartTimes(): { short(at: number): string; long(at: number): string } {
  const { i18n } = useTranslation();
  return useMemo(() => {
    const axis = new Intl.DateTimeFormat(i18n.language, { weekday: 'short', hour: 'numeric', minute: '2-digit' });
    const full = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeStyle: 'short' });
    return { short: (at) => axis.format(at * 1000), long: (at) => full.format(at * 1000) };
  }, [i18n.language]);
}
