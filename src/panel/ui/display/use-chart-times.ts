import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';

/** Unix seconds as the label of an axis and of a table, in the reader's time zone. */
export function useChartTimes(): { short(at: number): string; long(at: number): string } {
  const { i18n } = useTranslation();
  return useMemo(() => {
    const full = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeStyle: 'short' });
    const axis = formatHours(i18n.language);
    return { short: (at) => axis(new Date(at * 1000)), long: (at) => full.format(at * 1000) };
  }, [i18n.language]);
}

/**
 * An hour of a week, "Wed 15:00". Not in one format: some languages put the day in brackets behind
 * the time, which is too wide for the axis on a phone.
 */
export function formatHours(language: string, timeZone?: string): (at: Date) => string {
  const zone = timeZone === undefined ? {} : { timeZone };
  const day = new Intl.DateTimeFormat(language, { weekday: 'short', ...zone });
  const hour = new Intl.DateTimeFormat(language, { hour: 'numeric', minute: '2-digit', ...zone });
  return (at) => `${day.format(at)} ${hour.format(at)}`;
}
