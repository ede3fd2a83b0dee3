/**
 * The panel's texts in all languages, held against the English ones, and those of the factory
 * plugins. A text that a language lacks is shown in English, and a release is refused until it is
 * there.
 *
 * - `bun scripts/check-texts.ts`: faults of all languages, and how many texts each lacks.
 * - `bun scripts/check-texts.ts --missing de`: the texts that German does not have, in English, as
 *   JSON to be translated.
 * - `bun scripts/check-texts.ts --same de`: texts that are the English ones, to be looked at.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasons } from '../src/kernel/reasons/index.ts';
import { pluginHintsReasons } from '../src/kernel/reasons/plugin-hints.ts';
import { pluginHooksReasons } from '../src/kernel/reasons/plugin-hooks.ts';
import { pluginRulesReasons } from '../src/kernel/reasons/plugin-rules.ts';
import { root } from './hash-inputs.ts';

type Texts = Readonly<Record<string, string>>;

const folder = join(root, 'src/panel/i18n');
const plugins = join(root, 'src/plugins/factory');

const plural = /^(.+)_(zero|one|two|few|many|other)$/;

export const listLanguages = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .sort();

/** The texts that the panel shows in a language: English ones where it has none. */
export const readTexts = (language: string): Texts => completeTexts(language, readOwnTexts(language));

/** The texts of a language itself: English has those of its file and the gateway's sentences. */
const readOwnTexts = (language: string): Texts => {
  const texts = readJson(`${language}.json`);
  return language === 'en' ? { ...toReasonTexts(texts), ...texts } : texts;
};

/**
 * The gateway's sentences with the quotation marks of the panel, without the rules for plugins and
 * those that `texts` says in its own words.
 */
function toReasonTexts(texts: Texts): Texts {
  const isSaid = (reason: string): boolean =>
    [`error.${reason}`, `reason.${reason}`, `reason.${reason}_other`].some((key) => Object.hasOwn(texts, key));
  return Object.fromEntries(
    Object.entries(reasons)
      .filter(([reason]) => !Object.hasOwn(englishRules, `reason.${reason}`) && !isSaid(reason))
      .map(([reason, text]) => [`reason.${reason}`, setQuotes(text)]),
  );
}

/** Quotation marks in code, as in `u("seconds")`, stay. */
const setQuotes = (text: string): string =>
  text.replaceAll(/(?<![(\w])"([^"]*)"/g, '“$1”').replaceAll(/(?<=[\w}])'/g, '’');

/** English texts of the panel that the gateway's sentence would say as well. */
export function listRepeatedTexts(): string[] {
  const own = readJson('en.json');
  return Object.entries(reasons)
    .filter(([reason, text]) => own[`reason.${reason}`] === setQuotes(text))
    .map(([reason]) => `reason.${reason}`);
}

/**
 * The rules for plugins, which pages of plugins alone load. The English ones are the gateway's
 * sentences.
 */
export const readRuleTexts = (language: string): Texts => readOwnRules(language);

/** By the keys of the texts. */
const englishRules: Texts = Object.fromEntries(
  Object.entries({ ...pluginRulesReasons, ...pluginHooksReasons, ...pluginHintsReasons }).map(([reason, text]) => [
    `reason.${reason}`,
    text,
  ]),
);

const readOwnRules = (language: string): Texts => readJson(`plugin-rules/${language}.json`);

function readJson(name: string): Texts {
  const path = join(folder, name);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Texts) : {};
}

/**
 * The texts of a language with English ones where it lacks them. Where it lacks a plural category
 * of a text that it has, its own text for any other number stands in.
 */
export function completeTexts(language: string, own: Texts, english: Texts = readOwnTexts('en')): Texts {
  const texts: Record<string, string> = {};
  for (const [key, text] of Object.entries(wantedTexts(language, english))) {
    texts[key] = own[key] ?? own[key.replace(plural, '$1_other')] ?? text;
  }
  return { ...texts, ...own };
}

/**
 * The keys that a language needs: those of English, and for a counted text one of each plural
 * category that its rules know. English texts that stand for a missing category are those of
 * `_other`.
 */
export function wantedTexts(language: string, english: Texts = readOwnTexts('en')): Texts {
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

function missingTexts(language: string): Texts {
  const own = readOwnTexts(language);
  return Object.fromEntries(Object.entries(wantedTexts(language)).filter(([key]) => !Object.hasOwn(own, key)));
}

/** The texts that languages lack, as `de.json: KEY`, for the release. */
export function listMissingTexts(): string[] {
  const rules = Object.keys(englishRules);
  return listLanguages().flatMap((language) => {
    // English ones are the gateway's own sentences.
    const own = readOwnRules(language);
    return [
      ...Object.keys(missingTexts(language)).map((key) => `${language}.json: ${key}`),
      ...rules
        .filter((key) => language !== 'en' && !Object.hasOwn(own, key))
        .map((key) => `plugin-rules/${language}.json: ${key}`),
    ];
  });
}

/** The texts of factory plugins that languages lack, as `fal.js: /meta/description: de`. */
export async function listMissingPluginTexts(): Promise<string[]> {
  const files = readdirSync(plugins).filter((name) => name.endsWith('.js'));
  const missing = files.map(async (file) => {
    const { meta, vendorInfo } = (await import(join(plugins, file))) as { meta: unknown; vendorInfo?: unknown };
    return findUntranslated({ meta, vendorInfo }, listLanguages()).map((text) => `${file}: ${text}`);
  });
  return (await Promise.all(missing)).flat();
}

/** Where the contract takes a text in several languages. */
const pluginText = /\/(?:description|unitLabel|keyHelp|(?:enumLabels|labels)\/[^/]+|vendorInfo\/examples\/\d+\/label)$/;

/**
 * The texts below a value of a plugin and the languages that each lacks. A string is English,
 * unless it has no words, as `1280x720`.
 */
export function findUntranslated(value: unknown, languages: readonly string[], path = ''): string[] {
  if (pluginText.test(path)) {
    const text = typeof value === 'string' ? { en: value } : (value as Texts);
    if (!/\p{L}{2}/u.test(text.en ?? '')) return [];
    const lacking = languages.filter((language) => !text[language]);
    return lacking.length === 0 ? [] : [`${path}: ${lacking.join(', ')}`];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => findUntranslated(member, languages, `${path}/${name}`));
}

/** Surplus and empty texts of a language, and those whose placeholders or tags differ. */
export function findTextFaults(language: string): string[] {
  const english = readOwnTexts('en');
  // A language may have categories that its rules do not know, as long as English has them.
  return compareTexts(readOwnTexts(language), { ...english, ...wantedTexts(language, english) });
}

/** As `findTextFaults`, of the rules for plugins. */
export const findRuleTextFaults = (language: string): string[] => compareTexts(readOwnRules(language), englishRules);

const compareTexts = (texts: Texts, models: Texts): string[] =>
  Object.entries(texts).flatMap(([key, text]) => {
    const model = models[key];
    if (model === undefined) return [`${key} is not a text of English`];
    if (text.trim() === '') return [`${key} is empty`];
    const [expected, found] = [placeholders(model), placeholders(text)];
    return expected === found
      ? []
      : [`${key} has the placeholders ${found || 'none'} instead of ${expected || 'none'}`];
  });

/** The placeholders of a text, each once: a language may repeat one. */
const placeholders = (text: string): string =>
  [
    ...new Set(
      [...text.matchAll(/\{\{\s*(\w+)\s*(?:,\s*\w+\s*)?\}\}|<\/?(\w+)>/g)].map(([all]) => all.replaceAll(' ', '')),
    ),
  ]
    .sort()
    .join(' ');

if (import.meta.main) {
  const [mode, language = ''] = process.argv.slice(2);
  const print = (text: string): boolean => process.stdout.write(`${text}\n`);
  if (mode === '--missing') print(JSON.stringify(missingTexts(language), null, 2));
  else if (mode === '--same') {
    const english = readOwnTexts('en');
    const same = Object.entries(readOwnTexts(language)).filter(([key, text]) => english[key] === text);
    print(JSON.stringify(Object.fromEntries(same), null, 2));
  } else {
    const missing = listMissingTexts();
    for (const key of listRepeatedTexts()) {
      print(`en.json: ${key} repeats the gateway's sentence: leave it out`);
      process.exitCode = 1;
    }
    for (const each of listLanguages()) {
      for (const fault of [...findTextFaults(each), ...findRuleTextFaults(each)]) {
        print(`${each}.json: ${fault}`);
        process.exitCode = 1;
      }
      const lacks = missing.filter((line) => line.split(': ')[0]?.endsWith(`${each}.json`)).length;
      print(`${each}: ${Object.keys(readOwnTexts(each)).length} texts, ${lacks} missing`);
    }
    for (const line of await listMissingPluginTexts()) print(line);
  }
}
