import type { TFunction } from 'i18next';

type Value = string | number | SaidSentence;

/** What the gateway said: in English, and by the reason that other languages are found by. */
export type SaidSentence = {
  message: string;
  /** Absent in rows of earlier versions, and where an error's code says everything. */
  reason?: string | null | undefined;
  params?: Readonly<Record<string, Value>> | null | undefined;
};

/** A plugin's, a vendor's or another server's own words. */
const QUOTED = 'plugin';
/** Values that are words of a vendor, an author or another server where they are not a sentence. */
const WORDS = /^(?:detail|fault|note|reason|event|source)$/;

/**
 * The sentence in the user's language, or in English where its text is missing; null for words that
 * nobody translates: those of others, and of earlier versions.
 */
export function translateSentence({ message, reason, params }: SaidSentence, t: TFunction): string | null {
  if (typeof reason !== 'string' || reason === QUOTED) return null;
  // Texts that people read before they are signed in are those of `error`.
  const key = [`error.${reason}`, `reason.${reason}`].find((each) => hasText(each, params ?? {}, t));
  if (key === undefined) return message;
  return (t as (key: string, values: object) => string)(key, translateParams(params ?? {}, t)).trim();
}

/** As `translateSentence`, with the words of others in quotation marks. */
export const translateOrQuote = (said: SaidSentence, t: TFunction): string =>
  translateSentence(said, t) ?? quote(said.message, t);

const quote = (words: string, t: TFunction): string =>
  words.trim() === '' ? '' : t('error.quoted', { text: words.trim() });

/** i18next answers with the key where it has no text. */
const hasText = (key: string, values: object, t: TFunction): boolean =>
  (t as (key: string, values: object) => string)(key, values) !== key;

const translateParams = (params: Readonly<Record<string, Value>>, t: TFunction): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      if (typeof value === 'object') return [name, value === null ? '' : translateOrQuote(value, t)];
      return [name, typeof value === 'string' ? translateText(name, value, t) : value];
    }),
  );

function translateText(name: string, value: string, t: TFunction): string {
  if (name === 'names') return value.replaceAll(' and ', ', ');
  return WORDS.test(name) ? quote(value, t) : value;
}
