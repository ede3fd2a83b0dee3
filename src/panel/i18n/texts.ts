import type en from './en.json';

/** The keys of all texts, and what one language file holds. */
export type TextKey = keyof typeof en;
export type Texts = Record<TextKey, string>;
