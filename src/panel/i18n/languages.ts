import type { Texts } from './texts.ts';

export type Language = 'en' | 'zh';

/** Each language is a chunk of its own: only the one in use is loaded. */
export const languages: Record<Language, { name: string; htmlLang: string; load(): Promise<Texts> }> = {
  en: { name: 'English', htmlLang: 'en', load: async () => (await import('./en.ts')).en },
  zh: { name: '简体中文', htmlLang: 'zh-CN', load: async () => (await import('./zh.ts')).zh },
};

const storageKey = 'taskgate.language';

/** The language chosen earlier, else the browser's first one that we have, else English. */
export function preferredLanguage(): Language {
  const stored = readStored();
  const wanted = [...(stored === null ? [] : [stored]), ...navigator.languages];
  for (const tag of wanted) {
    const short = tag.toLowerCase().split('-')[0];
    if (short === 'en' || short === 'zh') return short;
  }
  return 'en';
}

export function rememberLanguage(language: Language): void {
  try {
    localStorage.setItem(storageKey, language);
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
}

function readStored(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}
