/**
 * The panel's texts in all languages, held against the English ones.
 *
 * - `bun scripts/check-texts.ts`: faults of all languages.
 * - `bun scripts/check-texts.ts --missing de`: the texts that German does not have, in English, as
 *   JSON to be translated.
 * - `bun scripts/check-texts.ts --same de`: texts that are the English ones, to be looked at.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './hash-inputs.ts';

type Texts = Readonly<Record<string, string>>;

const folder = join(root, 'src/panel/i18n');

/** Languages that are being translated: the build fills their gaps with English. */
export const unfinishedLanguages: readonly string[] = [];

const plural = /^(.+)_(zero|one|two|few|many|other)$/;

export const listLanguages = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .sort();

export const readTexts = (language: string): Texts =>
  JSON.parse(readFileSync(join(folder, `${language}.json`), 'utf8')) as Texts;

/**
 * The keys that a language needs: those of English, and for a counted text one of each plural
 * category that its rules know. English texts that stand for a missing category are those of
 * `_other`.
 */
export function wantedTexts(language: string, english: Texts = readTexts('en')): Texts {
  const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
  const wanted: Record<string, string> = {};
  for (const [key, text] of Object.entries(english)) {
    const stem = plural.exec(key)?.[1];
    if (stem === undefined || english[`${stem}_other`] === undefined) wanted[key] = text;
    else {
      for (const category of pluralCategories) {
        wanted[`${stem}_${category}`] = english[`${stem}_${category}`] ?? english[`${stem}_other`] ?? text;
      }
    }
  }
  return wanted;
}

export function missingTexts(language: string): Texts {
  const texts = readTexts(language);
  return Object.fromEntries(Object.entries(wantedTexts(language)).filter(([key]) => !Object.hasOwn(texts, key)));
}

/** What the gateway says about faulty plugins: loaded by the pages of plugins alone. */
export const readRuleTexts = (language: string): Texts =>
  JSON.parse(readFileSync(join(folder, 'plugin-rules', `${language}.json`), 'utf8')) as Texts;

/** As `findTextFaults`, for the rules for plugins. The English ones are the gateway's sentences. */
export function findRuleTextFaults(language: string): string[] {
  const [english, texts] = [readRuleTexts('en'), readRuleTexts(language)];
  return [...new Set([...Object.keys(english), ...Object.keys(texts)])].flatMap((key) => {
    const [model, text] = [english[key], texts[key]];
    if (model === undefined) return [`${key} is not a rule of English`];
    if (text === undefined || text.trim() === '') return [`${key} is missing`];
    return placeholders(model) === placeholders(text) ? [] : [`${key} has other placeholders`];
  });
}

/** Missing, surplus and empty texts, and those whose placeholders or tags differ. */
export function findTextFaults(language: string): string[] {
  const english = readTexts('en');
  const texts = readTexts(language);
  const wanted = wantedTexts(language, english);
  const faults = Object.entries(texts).flatMap(([key, text]) => {
    // A language may have categories that its rules do not know, as long as English has them.
    const model = wanted[key] ?? english[key];
    if (model === undefined) return [`${key} is not a text of English`];
    if (text.trim() === '') return [`${key} is empty`];
    const [expected, found] = [placeholders(model), placeholders(text)];
    return expected === found
      ? []
      : [`${key} has the placeholders ${found || 'none'} instead of ${expected || 'none'}`];
  });
  const missing = unfinishedLanguages.includes(language) ? [] : Object.keys(missingTexts(language));
  return [...faults, ...missing.map((key) => `${key} is missing`)];
}

/** The placeholders of a text, each once: a language may repeat one. */
const placeholders = (text: string): string =>
  [...new Set([...text.matchAll(/\{\{\s*(\w+)\s*\}\}|<\/?(\w+)>/g)].map(([all]) => all.replaceAll(' ', '')))]
    .sort()
    .join(' ');

if (import.meta.main) {
  const [mode, language = ''] = process.argv.slice(2);
  if (mode === '--missing') console.log(JSON.stringify(missingTexts(language), null, 2));
  else if (mode === '--same') {
    const english = readTexts('en');
    const same = Object.entries(readTexts(language)).filter(([key, text]) => english[key] === text);
    console.log(JSON.stringify(Object.fromEntries(same), null, 2));
  } else {
    for (const each of listLanguages()) {
      for (const fault of [...findTextFaults(each), ...findRuleTextFaults(each)]) {
        console.error(`${each}.json: ${fault}`);
        process.exitCode = 1;
      }
      const missing = Object.keys(missingTexts(each)).length;
      console.log(`${each}: ${Object.keys(readTexts(each)).length} texts, ${missing} missing`);
    }
  }
}
