import type en from './en.json';

/** The keys of all texts, and the content of one language file. */
export type TextKey = keyof typeof en;
export type Texts = Record<TextKey, string>;
