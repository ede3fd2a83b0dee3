import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';

/** 500,000 units of quota are one US dollar. */
export const quotaPerUsd = 500_000;

export type Format = {
  number(value: number): string;
  /** A ratio as a percentage. */
  percent(share: number): string;
  /** Quota in dollars; amounts below ten cents keep three significant digits. */
  money(quota: number): string;
  /** Money for one column or axis: all with as many decimals as the smallest of `quotas` needs. */
  moneyLike(quotas: readonly number[]): (quota: number) => string;
  /** Ratios for one column: always with one decimal. */
  percentInColumn(share: number): string;
  /** Unix seconds as local date and time. */
  time(seconds: number): string;
  /** Unix seconds as local date. */
  date(seconds: number): string;
  /** Unix seconds as local time of day, with seconds. */
  clock(seconds: number): string;
  /** Unix seconds as "3 minutes ago" or "in 2 days". */
  ago(seconds: number, now?: number): string;
  /** A duration in seconds, in its largest fitting unit. */
  duration(seconds: number): string;
  bytes(count: number): string;
};

const relativeUnits: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/**
 * Two, or up to four for amounts below ten cents: as few as show all of them in full, or two digits
 * of the smallest one.
 */
function decimalsOf(quotas: readonly number[]): number {
  const amounts = quotas.filter((quota) => quota !== 0).map((quota) => Math.abs(quota) / quotaPerUsd);
  const smallest = Math.min(...amounts);
  if (!Number.isFinite(smallest) || smallest >= 0.1) return 2;
  const most = Math.min(4, 1 - Math.floor(Math.log10(smallest)));
  const isFull = (decimals: number): boolean =>
    amounts.every((amount) => Math.abs(amount - Number(amount.toFixed(decimals))) < 1e-9);
  return [2, 3].find((decimals) => decimals < most && isFull(decimals)) ?? most;
}

/** Formats numbers, money and times for the user's language. */
export function useFormat(): Format {
  const { i18n } = useTranslation();
  return useMemo(() => createFormat(i18n.language), [i18n.language]);
}

export function createFormat(language: string): Format {
  const plain = new Intl.NumberFormat(language);
  const share = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
  const fixedShare = new Intl.NumberFormat(language, {
    style: 'percent',
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  });
  const usd = { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' } as const;
  const coarse = new Intl.NumberFormat(language, usd);
  const fine = new Intl.NumberFormat(language, { ...usd, maximumSignificantDigits: 3 });
  const dateTime = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
  const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
  const clock = new Intl.DateTimeFormat(language, { timeStyle: 'medium' });
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  const unit = (name: string, value: number): string =>
    new Intl.NumberFormat(language, {
      style: 'unit',
      unit: name,
      unitDisplay: 'short',
      maximumFractionDigits: value < 1 ? 2 : value < 10 ? 1 : 0,
    }).format(value);
  return {
    number: (value) => plain.format(value),
    percent: (value) => share.format(value),
    money: (quota) => {
      const dollars = quota / quotaPerUsd;
      return dollars !== 0 && Math.abs(dollars) < 0.1 ? fine.format(dollars) : coarse.format(dollars);
    },
    moneyLike: (quotas) => {
      const digits = { minimumFractionDigits: decimalsOf(quotas), maximumFractionDigits: decimalsOf(quotas) };
      const equal = new Intl.NumberFormat(language, { ...usd, ...digits });
      return (quota) => equal.format(quota / quotaPerUsd);
    },
    percentInColumn: (value) => fixedShare.format(value),
    time: (seconds) => dateTime.format(new Date(seconds * 1000)),
    date: (seconds) => day.format(new Date(seconds * 1000)),
    clock: (seconds) => clock.format(new Date(seconds * 1000)),
    ago: (seconds, now = Date.now() / 1000) => {
      const distance = seconds - now;
      const [name, size] = relativeUnits.find(([, length]) => Math.abs(distance) >= length) ?? ['second', 1];
      return relative.format(Math.trunc(distance / size), name);
    },
    duration: (seconds) => {
      if (seconds < 90) return unit('second', seconds);
      if (seconds < 5400) return unit('minute', seconds / 60);
      return seconds < 172_800 ? unit('hour', seconds / 3600) : unit('day', seconds / 86_400);
    },
    bytes: (count) => {
      if (count < 1024) return unit('byte', count);
      if (count < 1024 ** 2) return unit('kilobyte', count / 1024);
      return count < 1024 ** 3 ? unit('megabyte', count / 1024 ** 2) : unit('gigabyte', count / 1024 ** 3);
    },
  };
}
