import type { LaterTextPart } from 'panel:languages';
import type { i18n } from 'i18next';
import type { TextKey } from '../../i18n/texts.ts';

// Keys of texts follow from the keys of options and groups. A test looks whether all are there.

export const nameOption = (key: string): TextKey => `option.${key}` as TextKey;
export const explainOption = (key: string): TextKey => `option.${key}.help` as TextKey;
export const nameGroup = (group: string): TextKey => `settings.group.${group}` as TextKey;

/** Two options that exclude each other, chosen in one field. */
export const IMPLICIT_TLS = 'SMTPSSLEnabled';
export const STARTTLS = 'SMTPStartTLSEnabled';

/** Whether an option has no row of its own because `EncryptionRow` shows it. */
export const isEncryption = (key: string): boolean => key === IMPLICIT_TLS || key === STARTTLS;

/** What a list of settings calls an option. Two options share the line "Encryption". */
export const nameInList = (key: string): TextKey => (isEncryption(key) ? 'settings.encryption' : nameOption(key));
export const isListed = (key: string): boolean => key !== STARTTLS;

/** Null where the group's name says enough. */
export function explainGroup(texts: i18n, group: string): TextKey | null {
  const key: string = `settings.group.${group}.help`;
  return listKeys(texts, 'settings').includes(key) ? (key as TextKey) : null;
}

/** The options that have texts, once those of the settings are loaded. */
export const listOptions = (texts: i18n): string[] =>
  listKeys(texts, 'settings')
    .filter((key) => key.startsWith('option.') && key.endsWith('.help'))
    .map((key) => key.slice('option.'.length, -'.help'.length));

const listKeys = (texts: i18n, part: LaterTextPart): string[] =>
  Object.keys(texts.getResourceBundle(texts.language, part) ?? {});
