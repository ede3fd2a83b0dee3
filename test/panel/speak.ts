import { createInstance } from 'i18next';
import { readTexts } from '../../scripts/check-texts.ts';
import { addValueFormats } from '../../src/panel/i18n/texts.ts';

/** The panel's texts in a language. */
export async function speak(language: string, texts: Readonly<Record<string, string>> = readTexts(language)) {
  const instance = createInstance();
  await instance.init({
    lng: language,
    fallbackLng: false,
    defaultNS: 'panel',
    keySeparator: false,
    nsSeparator: false,
    interpolation: { escapeValue: false },
    resources: { [language]: { panel: texts } },
  });
  addValueFormats(instance);
  return instance.t;
}
