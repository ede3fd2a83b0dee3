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

/** An i18next instance with the preferred language loaded. Keys are whole: the dot in them has no meaning. */
export async function createI18n(): Promise<i18n> {
  const language = preferredLanguage();
  const instance = createInstance();
  await instance.use(initReactI18next).init({
    lng: language,
    fallbackLng: false,
    defaultNS: 'panel',
    ns: ['panel'],
    keySeparator: false,
    nsSeparator: false,
    // React escapes.
    interpolation: { escapeValue: false },
    resources: { [language]: { panel: await loadTexts(language) } },
  });
  document.documentElement.lang = languages[language]?.tag ?? language;
  return instance;
}

/** Loads a language, changes to it and remembers the choice. */
export async function changeLanguage(instance: i18n, language: string): Promise<void> {
  if (!instance.hasResourceBundle(language, 'panel')) {
    instance.addResourceBundle(language, 'panel', await loadTexts(language));
  }
  await instance.changeLanguage(language);
  document.documentElement.lang = languages[language]?.tag ?? language;
  rememberLanguage(language);
}

async function loadTexts(language: string): Promise<Texts> {
  const file = languages[language];
  if (file === undefined) throw new Error(`No texts for the language ${language}`);
  return (await file.load()).default;
}
