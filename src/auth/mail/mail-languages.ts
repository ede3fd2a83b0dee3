import { chinese } from './words/chinese.ts';
import { english, type MailWords } from './words/english.ts';
import { german } from './words/german.ts';
import { japanese } from './words/japanese.ts';
import { portuguese } from './words/portuguese.ts';
import { spanish } from './words/spanish.ts';

/** The words of emails in each language of the panel. */
export const MAIL_WORDS: Readonly<Record<MailLanguage, MailWords>> = {
  en: english,
  zh: chinese,
  ja: japanese,
  es: spanish,
  de: german,
  pt: portuguese,
};

/** Languages of emails: the same as the panel's. */
export const MAIL_LANGUAGES = ['en', 'zh', 'ja', 'es', 'de', 'pt'] as const;
export type MailLanguage = (typeof MAIL_LANGUAGES)[number];

/** How many entries of an `Accept-Language` header are read. */
const MAX_TAGS = 10;

/**
 * The user's own language, else the browser's first supported one (weights are ignored), else
 * English.
 */
export function pickLanguage(acceptLanguage: string | undefined, own?: string): MailLanguage {
  const tags = (acceptLanguage ?? '').split(',', MAX_TAGS);
  for (const tag of own ? [own, ...tags] : tags) {
    const short = /^\s*([a-z]{2})(?![a-z])/i.exec(tag)?.[1]?.toLowerCase();
    const language = MAIL_LANGUAGES.find((each) => each === short);
    if (language !== undefined) return language;
  }
  return 'en';
}
