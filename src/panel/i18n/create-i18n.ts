import { createInstance, type i18n } from 'i18next';
import { initReactI18next } from 'react-i18next';
import { languages, preferredLanguage, rememberLanguage } from './languages.ts';
import type { Texts } from './texts.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'panel';
    resources: { panel: Texts };
    keySeparator: false;
    nsSeparator: false;
  }
}

/** Namespace of the texts that are not in the first chunk. */
const restNamespace = 'rest';

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
    fallbackNS: restNamespace,
    ns: ['panel'],
    keySeparator: false,
    nsSeparator: false,
    // React escapes already.
    interpolation: { escapeValue: false },
    resources: { [language]: { panel: (await findLanguage(language).loadFirst()).default as Texts } },
  });
  document.documentElement.lang = findLanguage(language).tag;
  return instance;
}

/** Whether the texts of the pages after sign-in are loaded. */
export const hasAllTexts = (instance: i18n): boolean => instance.hasResourceBundle(instance.language, restNamespace);

/** Loads the texts of the pages after sign-in, once per language. */
export async function loadAllTexts(instance: i18n, language = instance.language): Promise<void> {
  if (instance.hasResourceBundle(language, restNamespace)) return;
  const texts = await findLanguage(language).loadRest();
  instance.addResourceBundle(language, restNamespace, texts.default);
}

/** Loads a language, switches to it and remembers the choice. */
export async function changeLanguage(instance: i18n, language: string): Promise<void> {
  if (!instance.hasResourceBundle(language, 'panel')) {
    instance.addResourceBundle(language, 'panel', (await findLanguage(language).loadFirst()).default);
  }
  if (hasAllTexts(instance)) await loadAllTexts(instance, language);
  await instance.changeLanguage(language);
  document.documentElement.lang = findLanguage(language).tag;
  rememberLanguage(language);
}

/** Loads what the gateway says about faulty plugins. In English the answers themselves say it. */
export async function loadPluginRules(instance: i18n, language = instance.language): Promise<void> {
  const texts = await findLanguage(language).loadRules();
  instance.addResourceBundle(language, restNamespace, texts.default, true);
}

function findLanguage(language: string): (typeof languages)[string] {
  const file = languages[language];
  if (file === undefined) throw new Error(`No texts for the language ${language}`);
  return file;
}
