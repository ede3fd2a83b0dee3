import { languages } from 'panel:languages';

export { languages };

const fallback = 'en';
const storageKey = 'taskgate.language';

/** The language chosen earlier, else the first supported one of the browser, else English. */
export function preferredLanguage(): string {
  const stored = readStored();
  const wanted = [...(stored === null ? [] : [stored]), ...navigator.languages];
  return wanted.map(findLanguage).find((language) => language !== undefined) ?? fallback;
}

/** The language of a user's emails; the gateway's `mail-languages.ts` falls back to English too. */
export const mailLanguage = (chosen: string): string => findLanguage(chosen) ?? fallback;

/** Matches the exact tag, then the primary one: `zh-TW` falls back to `zh`. */
function findLanguage(wanted: string): string | undefined {
  const tag = wanted.toLowerCase();
  const names = Object.keys(languages);
  return (
    names.find((name) => name.toLowerCase() === tag || languages[name]?.tag.toLowerCase() === tag) ??
    names.find((name) => name.toLowerCase() === tag.split('-')[0])
  );
}

export function rememberLanguage(language: string): void {
  try {
    localStorage.setItem(storageKey, language);
  } catch {
    // Storage is blocked: the choice lasts until the page is closed.
  }
}

function readStored(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}
