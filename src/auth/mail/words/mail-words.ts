import type { MailLanguage } from '../pick-language.ts';
import { chinese } from './chinese.ts';
import { english } from './english.ts';
import { german } from './german.ts';
import { japanese } from './japanese.ts';
import { portuguese } from './portuguese.ts';
import { spanish } from './spanish.ts';
import type { MailWords } from './types.ts';

/** Each language of the panel. */
export const MAIL_WORDS: Readonly<Record<MailLanguage, MailWords>> = {
  en: english,
  zh: chinese,
  ja: japanese,
  es: spanish,
  de: german,
  pt: portuguese,
};
