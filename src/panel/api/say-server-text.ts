import type { TFunction } from 'i18next';
import { createRecognizer } from './recognize-sentence.ts';

/** Values that may be a sentence themselves; one that is not is a vendor's or an author's words. */
const SENTENCES = /^(?:detail|fault|note|reason|event|source)$/;

/** What the catalogues of errors say where nothing more is known. */
const DEFAULTS = 'reason.errors.';

let recognize: ReturnType<typeof createRecognizer> = () => null;

/** Makes the gateway's sentences known: they come with the texts of the pages after sign-in. */
export function learnSentences(sentences: Readonly<Record<string, string>>): void {
  recognize = createRecognizer(sentences);
}

/**
 * What the gateway said in an answer or a row, in the user's language; null if it is not one of its
 * own sentences, but the words of a vendor, a plugin's author or another server.
 */
export function sayServerText(text: string, t: TFunction): string | null {
  const found = recognize(text.trim());
  if (found === null) return null;
  return (t as (key: string, values: object) => string)(found.key, sayValues(found.params, t));
}

/** Values of a sentence, those that are sentences in the user's language. */
export const sayValues = (
  params: Readonly<Record<string, string | number>>,
  t: TFunction,
): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, typeof value === 'string' ? sayValue(name, value, t) : value]),
  );

/** As `sayServerText`, unless the text of the error's code says as much. */
export const sayBeyondCode = (text: string, t: TFunction): string | null =>
  recognize(text.trim())?.key.startsWith(DEFAULTS) === true ? null : sayServerText(text, t);

/** As `sayServerText`, with the words of others in quotation marks. */
export const translateOrQuote = (text: string, t: TFunction): string =>
  sayServerText(text, t) ?? (text.trim() === '' ? '' : t('error.quoted', { text: text.trim() }));

export function sayValue(name: string, value: string, t: TFunction): string {
  if (name === 'names') return value.replaceAll(' and ', ', ');
  return SENTENCES.test(name) ? translateOrQuote(value, t) : value;
}
