import type { LaterTextPart } from 'panel:languages';
import { createInstance, type i18n } from 'i18next';
import { initReactI18next } from 'react-i18next';
import { languages, preferredLanguage, rememberLanguage } from './languages.ts';
import { addValueFormats, type Texts } from './texts.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'panel';
    resources: { panel: Texts };
    keySeparator: false;
    nsSeparator: false;
  }
}

/** The parts of the texts that are loaded when they are needed, each a namespace. */
const laterParts = ['rest', 'administration', 'settings', 'account', 'playground', 'reference'] as const;

/**
 * Creates an i18next instance with the first texts of the preferred language. Keys are flat: dots
 * in them have no meaning.
 */
export async function createI18n(): Promise<i18n> {
  const language = preferredLanguage();
  const instance = createInstance();
  await instance.use(initReactI18next).init({
    lng: language,
    fallbackLng: false,
    defaultNS: 'panel',
    fallbackNS: laterParts,
    ns: ['panel'],
    keySeparator: false,
    nsSeparator: false,
    // React escapes already.
    interpolation: { escapeValue: false },
    resources: { [language]: { panel: (await findLanguage(language).load.first()).default as Texts } },
  });
  addValueFormats(instance);
  document.documentElement.lang = findLanguage(language).tag;
  return instance;
}

/** Whether a part of the texts is loaded: `rest` are those of all pages after sign-in. */
export const hasTexts = (instance: i18n, part: LaterTextPart, language = instance.language): boolean =>
  instance.hasResourceBundle(language, part);

/** Loads a part of the texts, once per language. */
export async function loadTexts(instance: i18n, part: LaterTextPart, language = instance.language): Promise<void> {
  if (hasTexts(instance, part, language)) return;
  instance.addResourceBundle(language, part, (await findLanguage(language).load[part]()).default);
}

async function loadFirstTexts(instance: i18n, language: string): Promise<void> {
  if (instance.hasResourceBundle(language, 'panel')) return;
  instance.addResourceBundle(language, 'panel', (await findLanguage(language).load.first()).default);
}

/** Loads the texts of another language, for what is shown in it beside the reader's own. */
export async function loadLanguage(instance: i18n, language: string): Promise<void> {
  await Promise.all([loadFirstTexts(instance, language), loadTexts(instance, 'rest', language)]);
}

/** Loads a language, switches to it and remembers the choice. */
export async function changeLanguage(instance: i18n, language: string): Promise<void> {
  const shown = laterParts.filter((part) => hasTexts(instance, part));
  await Promise.all([loadFirstTexts(instance, language), ...shown.map((part) => loadTexts(instance, part, language))]);
  await instance.changeLanguage(language);
  document.documentElement.lang = findLanguage(language).tag;
  rememberLanguage(language);
}

/** Loads what the gateway says about faulty plugins. In English the answers themselves say it. */
export async function loadPluginRules(instance: i18n, language = instance.language): Promise<void> {
  const texts = await findLanguage(language).loadRules();
  instance.addResourceBundle(language, 'rest', texts.default, true);
}

function findLanguage(language: string): (typeof languages)[string] {
  const file = languages[language];
  if (file === undefined) throw new Error(`No texts for the language ${language}`);
  return file;
}
