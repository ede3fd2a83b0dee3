import { QUOTA_PER_USD } from '../../../kernel/quota.ts';

/**
 * Numbers as people type and paste them. Forms keep a decimal: digits with a point, such as
 * `1234.5`, an empty text, or the text as typed where it is not a number.
 */
type DecimalReading =
  /** `isObvious`: no other language would read another number. */
  { decimal: string; isObvious: boolean } | { fault: 'ambiguous' | 'invalid' };

const maxLength = 40;
const decimalPattern = /^-?\d{1,15}(?:\.\d{1,12})?$/;

type Separators = { point: string; groupsThousands: boolean };
const known = new Map<string, Separators>();

function readSeparators(language: string): Separators {
  const cached = known.get(language);
  if (cached !== undefined) return cached;
  const number = new Intl.NumberFormat(language);
  const point = number.formatToParts(0.5).find(({ type }) => type === 'decimal')?.value === ',' ? ',' : '.';
  // Spanish writes 1234 and 12.345: there, 1.234 may be either number.
  const groupsThousands = number.formatToParts(1234).some(({ type }) => type === 'group');
  const separators = { point, groupsThousands };
  known.set(language, separators);
  return separators;
}

/**
 * Reads a number with either separator. Only where both readings are numbers, as in `1,234`, does
 * the language decide.
 */
export function readDecimal(typed: string, language: string): DecimalReading {
  if (typed.length > maxLength) return { fault: 'invalid' };
  const text = typed
    .normalize('NFKC')
    .replace('−', '-')
    .replace(/^\s*(?:US\$|USD|\$)|(?:US\$|USD|\$)\s*$/i, '')
    .trim();
  if (text === '') return { decimal: '', isObvious: true };
  if (!/^-?[\d.,\s'’]+$/.test(text) || !/\d/.test(text)) return { fault: 'invalid' };
  const sign = text.startsWith('-') ? '-' : '';
  const digits = text.slice(sign.length).trim();
  const { point, groupsThousands } = readSeparators(language);

  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  if (last === -1) return toReading(sign, { whole: digits, isObvious: true });
  const mark = digits[last] ?? '';
  const whole = digits.slice(0, last);
  const fraction = digits.slice(last + 1);
  // A mark that comes twice separates groups: 1.234.567.
  if (whole.includes(mark)) return toReading(sign, { whole: digits, isObvious: mark !== point });
  if (whole.includes(',') || whole.includes('.') || /[\s'’]/.test(whole) || !/^[1-9]\d{0,2}$/.test(whole)) {
    return toReading(sign, { whole, fraction, isObvious: mark === point });
  }
  if (!/^\d{3}$/.test(fraction)) return toReading(sign, { whole, fraction, isObvious: mark === point });
  if (mark === point) return toReading(sign, { whole, fraction, isObvious: false });
  return groupsThousands || whole.length > 1
    ? toReading(sign, { whole: digits, isObvious: false })
    : { fault: 'ambiguous' };
}

type Parts = { whole: string; fraction?: string; isObvious: boolean };

function toReading(sign: string, { whole, fraction = '', isObvious }: Parts): DecimalReading {
  const marks = new Set(whole.match(/\D/g));
  const isGrouped = marks.size === 1 && /^\d{1,3}(?:\D\d{3})+$/.test(whole);
  const digits = (isGrouped ? whole.replace(/\D/g, '') : whole).replace(/^0+(?=\d)/, '');
  if (!/^\d*$/.test(digits) || !/^\d*$/.test(fraction)) return { fault: 'ambiguous' };
  if (digits.length > 15 || fraction.length > 12) return { fault: 'invalid' };
  const rest = fraction.replace(/0+$/, '');
  const decimal = `${digits || '0'}${rest === '' ? '' : `.${rest}`}`;
  return { decimal: decimal === '0' ? '0' : `${sign}${decimal}`, isObvious };
}

/** A decimal as this language writes it, without groups. */
export const writeDecimal = (decimal: string, language: string): string =>
  decimalPattern.test(decimal) ? decimal.replace('.', readSeparators(language).point) : decimal;

/** A written amount with both digits of its cents: 2 is 2.00, and 2.5 is 2.50. */
export function padCents(text: string, language: string): string {
  if (/^-?\d{1,15}$/.test(text)) return `${text}${readSeparators(language).point}00`;
  return /^-?\d{1,15}[.,]\d$/.test(text) ? `${text}0` : text;
}

/** A written number with its thousands in groups; any other text as it is. */
export function groupThousands(text: string, language: string): string {
  const [, whole, fraction = ''] = /^(-?\d{4,15})([.,]\d+)?$/.exec(text) ?? [];
  return whole === undefined ? text : `${new Intl.NumberFormat(language).format(Number(whole))}${fraction}`;
}

/** A decimal of US dollars beside a field of such amounts. */
export const writeDollars = (decimal: string, language: string): string =>
  `$${groupThousands(padCents(writeDecimal(decimal, language), language), language)}`;

/** The decimal of a number, with at most twelve significant digits. */
export const toDecimal = (value: number): string =>
  new Intl.NumberFormat('en', { useGrouping: false, maximumSignificantDigits: 12 }).format(value).replace('-0', '0');

/** null: the text is empty or no number. */
export const toNumber = (decimal: string): number | null => (decimalPattern.test(decimal) ? Number(decimal) : null);

/** What a balance may be at most, by the gateway's rule. */
const maxDollars = 1_000_000_000;

/**
 * The quota of an amount in dollars; null if it is no amount, too large, or below the least unit.
 */
export function toQuota(decimal: string): number | null {
  const dollars = toNumber(decimal);
  if (dollars === null || dollars < 0 || dollars > maxDollars) return null;
  const quota = Math.round(dollars * QUOTA_PER_USD);
  return quota === 0 && dollars !== 0 ? null : quota;
}

/** Quota as a decimal of dollars. */
export const toDollars = (quota: number): string => toDecimal(quota / QUOTA_PER_USD);
