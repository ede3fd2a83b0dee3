import type { TFunction } from 'i18next';
import type { TextKey } from '../i18n/texts.ts';
import { ApiError } from './api-error.ts';
import { codeTexts, isQuoted, isWrittenByOperator } from './code-texts.ts';
import type { FieldError } from './field-errors.ts';
import { saySentence, translateOrQuote } from './say-sentence.ts';
import { UserError } from './user-error.ts';

/** Says what went wrong and what to do, in the user's language. */
export function errorMessage(error: unknown, t: TFunction, language: string): string {
  if (error instanceof UserError) return t(error.text);
  if (!(error instanceof ApiError)) return t('error.unavailable');
  const meaning = codeMessage({ error, t, language });
  if (meaning !== null) return meaning;
  const values = messageValues(error, t, language);
  if (error.status === 0) return t('error.unreachable');
  if (error.status === 429) return t('error.limited', values);
  if (error.status >= 500 || error.code === 'UNREADABLE') return t('error.unavailable');
  return withoutEmptyEnd(t('error.unknown', values));
}

type CodeMessageInput = {
  error: ApiError;
  t: TFunction;
  language: string;
  /** Texts of this page that replace the general ones. */
  overrides?: Readonly<Record<string, TextKey>> | undefined;
};

/**
 * The text for an error: this page's, else that of the very sentence that the gateway said, else
 * that of its code. Null when no text is known for it.
 */
export function codeMessage({ error, t, language, overrides = {} }: CodeMessageInput): string | null {
  const override = overrides[error.code];
  if (override !== undefined) return t(override, messageValues(error, t, language));
  if (isWrittenByOperator(error)) return error.message;
  const known = codeTexts[error.code];
  const said = saySentence(error, t);
  if (said !== null) return said;
  if (known !== undefined) return withoutEmptyEnd(t(known, messageValues(error, t, language)));
  const key = `refusal.${error.code}`;
  if (!hasText(key, t)) return null;
  // The API's English is more exact than the text of a code.
  if (language === 'en' && error.status < 500) return error.message;
  return withoutEmptyEnd(t(key as TextKey, messageValues(error, t, language)));
}

/** The text for what is wrong with one field. */
export function fieldMessage({ message, reason, params, rule }: FieldError, t: TFunction, language: string): string {
  const said = saySentence({ message, reason, params }, t);
  if (said !== null) return said;
  // The API's own sentence is English, and more exact than the texts below.
  if (language === 'en') return message;
  if (rule === 'required') return t('error.field.required');
  return rule === 'unknown_field' ? t('error.field.unknown') : t('error.field.wrong');
}

/** i18next answers with the key where it has no text. */
const hasText = (key: string, t: TFunction): boolean => (t as (key: string) => string)(key) !== key;

const messageValues = (error: ApiError, t: TFunction, language: string) => ({
  wait: formatWait(error.retryAfter, t, language),
  message: chooseMessage(error, t, language),
});

/**
 * The API's own sentence, where its reader understands it or nobody could translate it; else what
 * is wrong with the first field.
 */
function chooseMessage(error: ApiError, t: TFunction, language: string): string {
  if (isQuoted(error.code)) return translateOrQuote(error, t);
  if (language === 'en') return error.message;
  const [first] = error.fieldErrors;
  return first === undefined ? '' : `${first[0]}: ${fieldMessage(first[1], t, language)}`;
}

/** "The gateway rejected this: " has a colon that nothing follows where there is no message. */
const withoutEmptyEnd = (text: string): string => text.trim().replace(/[:：]$/, '');

function formatWait(seconds: number | null, t: TFunction, language: string): string {
  if (seconds === null || seconds === 0) return t('wait.moment');
  const inMinutes = seconds >= 90;
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: inMinutes ? 'minute' : 'second',
    unitDisplay: 'long',
  }).format(inMinutes ? Math.ceil(seconds / 60) : seconds);
}
