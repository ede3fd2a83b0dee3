import type { i18n } from 'i18next';
import { VALUE_FORMATS } from '../../kernel/texts.ts';
import type en from './en.json';

/** The keys of all texts, and the content of one language file. */
export type TextKey = keyof typeof en;
export type Texts = Record<TextKey, string>;

/** A text from a plugin: one for all languages, or one per BCP-47 locale, `en` always included. */
export type LocalisedText = string | Readonly<Record<string, string>>;

/** The text for a language: by its exact tag, then by its primary one, then in English. */
export function localise(text: LocalisedText | null | undefined, language: string): string {
  if (text === null || text === undefined) return '';
  if (typeof text === 'string') return text;
  const wanted = language.toLowerCase();
  const primary = wanted.split('-')[0];
  const find = (tag: string | undefined): string | undefined =>
    Object.entries(text).find(([locale]) => locale.toLowerCase() === tag)?.[1];
  return find(wanted) ?? find(primary) ?? find('en') ?? '';
}

/** How texts write numbers: `{{max, bytes}}`. */
export function addValueFormats({ services }: i18n): void {
  for (const [name, write] of Object.entries(VALUE_FORMATS)) {
    services.formatter?.add(name, (value, language) => write(Number(value), language ?? 'en'));
  }
}
