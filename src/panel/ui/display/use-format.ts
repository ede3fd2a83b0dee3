import { useTranslation } from 'react-i18next';
import { QUOTA_PER_USD } from '../../../kernel/quota.ts';
import { type LocalisedText, localise } from '../../i18n/texts.ts';
import { type Axis, decimalsOfStep, roundTicks } from './round-ticks.ts';

export type Format = {
  number(value: number): string;
  /** A ratio as a percentage. */
  percent(share: number): string;
  /** Quota in dollars; amounts below ten cents keep three significant digits. */
  money(quota: number): string;
  /** Quota in dollars, to its last digit. */
  exactMoney(quota: number): string;
  /** A number to its last digit, as nobody can read it in another way. */
  exact(value: number): string;
  /** Money for one column or axis: all with as many decimals as the smallest of `quotas` needs. */
  moneyLike(quotas: readonly number[]): (quota: number) => string;
  /**
   * The axis of a chart of money from zero to `peak`: round amounts, all with the same decimals.
   */
  moneyAxis(peak: number): Axis;
  /** Ratios for one column: always with one decimal. */
  percentInColumn(share: number): string;
  /** Unix seconds as local date and time. */
  time(seconds: number): string;
  /** As `time`, with seconds. */
  exactTime(seconds: number): string;
  /** Unix seconds as local date. */
  date(seconds: number): string;
  /** Unix seconds as "November 2026". */
  month(seconds: number): string;
  /** Unix seconds as local time of day, with seconds. */
  clock(seconds: number): string;
  /** Unix seconds as "3 min ago" or "in 2 days". */
  ago(seconds: number, now?: number): string;
  /** A duration in seconds, in its largest fitting unit. No line breaks between number and unit. */
  duration(seconds: number): string;
  /** A duration that one watches: "2 min 54 sec" below an hour. */
  elapsed(seconds: number): string;
  /** Durations for one column: all below ten with the decimals that one of `durations` needs. */
  durationLike(durations: readonly number[]): (seconds: number) => string;
  /** The axis of a chart of durations: round numbers of the unit that fits `peak`. */
  durationAxis(peak: number): Axis;
  /** "a, b and c". */
  list(items: readonly string[]): string;
  bytes(count: number): string;
  /** Sizes for one column. */
  bytesLike(sizes: readonly number[]): (count: number) => string;
  bytesAxis(peak: number): Axis;
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
function countDecimals(quotas: readonly number[]): number {
  const amounts = quotas.filter((quota) => quota !== 0).map((quota) => Math.abs(quota) / QUOTA_PER_USD);
  const smallest = Math.min(...amounts);
  if (!Number.isFinite(smallest) || smallest >= 0.1) return 2;
  const most = Math.min(4, 1 - Math.floor(Math.log10(smallest)));
  const isFull = (decimals: number): boolean =>
    amounts.every((amount) => Math.abs(amount - Number(amount.toFixed(decimals))) < 1e-9);
  return [2, 3].find((decimals) => decimals < most && isFull(decimals)) ?? most;
}

/** The fewest of these decimals that show the value in full. Three would look like a group. */
const exactDecimals = (value: number, choices: readonly number[]): number =>
  choices.find((decimals) => Number(value.toFixed(decimals)) === value) ?? choices.at(-1) ?? 0;

type Scale = readonly (readonly [unit: string, size: number, below: number])[];

const durationScale: Scale = [
  ['second', 1, 90],
  ['minute', 60, 5400],
  ['hour', 3600, 172_800],
  ['day', 86_400, Infinity],
];
const byteScale: Scale = [
  ['byte', 1, 1000],
  ['kilobyte', 1024, 1000 * 1024],
  ['megabyte', 1024 ** 2, 1000 * 1024 ** 2],
  ['gigabyte', 1024 ** 3, Infinity],
];

/** The largest fitting unit, and the value in it. */
function measure(scale: Scale, value: number): { unit: string; size: number; amount: number } {
  const [unit = '', size = 1] = scale.find(([, , below]) => value < below) ?? [];
  return { unit, size, amount: value / size };
}

/**
 * The decimals for amounts below ten: none if all are whole; else one, or two for hundredths. Those
 * from ten on have two digits already.
 */
function decimalsOfAmounts(amounts: readonly number[]): number {
  const isWhole = amounts.every((amount) => amount >= 9.95 || Math.abs(amount - Math.round(amount)) < 0.05);
  if (isWhole && amounts.every((amount) => amount === 0 || amount >= 0.95)) return 0;
  return amounts.some((amount) => amount > 0 && amount < 0.095) ? 2 : 1;
}

/** Formatters are slow to make, and each row of a list needs them. */
const formats = new Map<string, Format>();

/** Formats numbers, money and times for the user's language. */
export function useFormat(): Format {
  const { language } = useTranslation().i18n;
  const format = formats.get(language) ?? createFormat(language);
  formats.set(language, format);
  return format;
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
  const exactDateTime = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' });
  const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
  const month = new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric' });
  const clock = new Intl.DateTimeFormat(language, { timeStyle: 'medium' });
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  const shortRelative = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });
  const conjunction = new Intl.ListFormat(language, { type: 'conjunction' });
  const units = new Map<string, Intl.NumberFormat>();
  const unit = (name: string, { min = 0, max }: { min?: number; max: number }): ((amount: number) => string) => {
    const digits = { minimumFractionDigits: min, maximumFractionDigits: max };
    const key = `${name} ${min} ${max}`;
    // The short form of a byte has no plural.
    const unitDisplay = name === 'byte' ? 'long' : 'short';
    const found =
      units.get(key) ?? new Intl.NumberFormat(language, { style: 'unit', unit: name, unitDisplay, ...digits });
    units.set(key, found);
    return (amount) => found.format(amount).replaceAll(' ', '\u00a0');
  };
  const alone = (scale: Scale, value: number): string => {
    const { unit: name, amount } = measure(scale, value);
    return unit(name, { max: amount < 0.095 ? 2 : amount < 9.95 ? 1 : 0 })(amount);
  };
  const inColumn = (scale: Scale, values: readonly number[]): ((value: number) => string) => {
    const most = decimalsOfAmounts(values.map((value) => measure(scale, value).amount));
    return (value) => {
      const { unit: name, amount } = measure(scale, value);
      const decimals = amount < 9.95 ? most : 0;
      return unit(name, { min: decimals, max: decimals })(amount);
    };
  };
  const createAxis = (scale: Scale, peak: number): Axis => {
    const { unit: name, size } = measure(scale, peak);
    const { ticks, step } = roundTicks(peak, { unit: size });
    const decimals = decimalsOfStep(step);
    const label = unit(name, { min: decimals, max: decimals });
    return { ticks, label: (value) => label(value / size) };
  };
  return {
    number: (value) => plain.format(value),
    percent: (value) => share.format(value),
    money: (quota) => {
      const dollars = quota / QUOTA_PER_USD;
      return dollars !== 0 && Math.abs(dollars) < 0.1 ? fine.format(dollars) : coarse.format(dollars);
    },
    exactMoney: (quota) => {
      const dollars = quota / QUOTA_PER_USD;
      return new Intl.NumberFormat(language, {
        ...usd,
        ...sameDecimals(exactDecimals(dollars, [2, 4, 6, 8, 12])),
      }).format(dollars);
    },
    exact: (value) =>
      new Intl.NumberFormat(language, sameDecimals(exactDecimals(value, [0, 1, 2, 4, 6, 8, 12]))).format(value),
    moneyLike: (quotas) => {
      const equal = new Intl.NumberFormat(language, { ...usd, ...sameDecimals(countDecimals(quotas)) });
      return (quota) => equal.format(quota / QUOTA_PER_USD);
    },
    moneyAxis: (peak) => {
      const { ticks, step } = roundTicks(peak, { unit: QUOTA_PER_USD });
      const decimals = step >= 1 ? 0 : Math.max(2, decimalsOfStep(step));
      const label = new Intl.NumberFormat(language, { ...usd, ...sameDecimals(decimals) });
      return { ticks, label: (quota) => label.format(quota / QUOTA_PER_USD) };
    },
    percentInColumn: (value) => fixedShare.format(value),
    time: (seconds) => dateTime.format(new Date(seconds * 1000)),
    list: (items) => conjunction.format(items),
    exactTime: (seconds) => exactDateTime.format(new Date(seconds * 1000)),
    date: (seconds) => day.format(new Date(seconds * 1000)),
    month: (seconds) => month.format(new Date(seconds * 1000)),
    clock: (seconds) => clock.format(new Date(seconds * 1000)),
    ago: (seconds, now = Date.now() / 1000) => {
      const distance = seconds - now;
      const [name, size] = relativeUnits.find(([, length]) => Math.abs(distance) >= length) ?? ['second', 1];
      const amount = Math.trunc(distance / size);
      if (size >= 86_400) return relative.format(amount, name);
      const said = shortRelative.format(amount, name);
      // English abbreviates with a full stop here, but not in "3 min".
      return language.startsWith('en') ? said.replaceAll('.', '') : said;
    },
    duration: (seconds) => alone(durationScale, seconds),
    elapsed: (seconds) => {
      if (seconds < 60 || seconds >= 3600) return alone(durationScale, seconds);
      const whole = { max: 0 };
      const [minutes, rest] = [Math.floor(seconds / 60), Math.floor(seconds % 60)];
      return `${unit('minute', whole)(minutes)} ${unit('second', whole)(rest)}`;
    },
    durationLike: (durations) => inColumn(durationScale, durations),
    durationAxis: (peak) => createAxis(durationScale, peak),
    bytes: (count) => alone(byteScale, count),
    bytesLike: (sizes) => inColumn(byteScale, sizes),
    bytesAxis: (peak) => createAxis(byteScale, peak),
  };
}

/** A change of money with its sign, "+$5.00" or "−$0.10". */
export const withSign = (change: number, money: (quota: number) => string): string =>
  `${change > 0 ? '+' : change < 0 ? '−' : ''}${money(Math.abs(change))}`;

const sameDecimals = (decimals: number) => ({ minimumFractionDigits: decimals, maximumFractionDigits: decimals });

/** The plugin's label of a field or fact in the user's language, else its name as words. */
export const labelField = (labels: FieldLabels | undefined, name: string, language: string): string =>
  localise(labels?.[name], language) || humanizeFieldName(name);

/** As `labelField`, inside a sentence: German nouns keep their capital. */
export function labelInSentence(labels: FieldLabels | undefined, name: string, language: string): string {
  const label = labelField(labels, name, language);
  return language === 'de' ? label : label.charAt(0).toLowerCase() + label.slice(1);
}

/** A choice and the plugin's words for it, as "720p – High definition". */
export function labelChoice(choice: string, words: LocalisedText | undefined, language: string): string {
  const said = localise(words, language);
  if (said === '') return choice;
  return said.toLowerCase() === choice.toLowerCase() ? said : `${choice} – ${said}`;
}

export type FieldLabels = Readonly<Record<string, LocalisedText>>;

/** `aspect_ratio` as "Aspect ratio". */
export function humanizeFieldName(name: string): string {
  const words = name.replaceAll(/[_-]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
