/**
 * Characters that a reader does not see, or that change the order in which they see others: control
 * characters, line and paragraph separators, bidirectional controls (UAX #9), and invisible ones,
 * by which two names look the same.
 */
const HIDDEN =
  '[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Bidi_Control}\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb]';
/**
 * Joiners and tags have a use within Arabic, Persian and Indic words and within emoji; after ASCII
 * they only hide.
 */
const IDLE = '(^|\\p{ASCII})[\\u200c\\u200d\\u{e0000}-\\u{e007f}]+';

const ANY = new RegExp(`${HIDDEN}|${IDLE}`, 'u');
const EACH = new RegExp(HIDDEN, 'gu');
const EACH_IDLE = new RegExp(IDLE, 'gu');
const SEPARATOR = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** What a refusal says of a name that `hasHiddenCharacters`. */
export const HIDDEN_CHARACTERS_RULE =
  'it must have no control characters, no invisible ones, and none that change the direction of text.';

/** True for a text that must not be anybody's or anything's name. */
export const hasHiddenCharacters = (text: string): boolean => ANY.test(text) || !text.isWellFormed();

/** The text without them: those that separate words become a space, others vanish. */
export const removeHiddenCharacters = (text: string): string =>
  text
    .toWellFormed()
    .replace(EACH, (character) => (SEPARATOR.test(character) ? ' ' : ''))
    .replace(EACH_IDLE, '$1');

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * The text with each of them written out, so that it stays on its line and moves nothing in a
 * terminal: `\n`, `\u001b`.
 */
export const escapeHiddenCharacters = (text: string): string =>
  text.replace(EACH, (character) => SHORT[character] ?? escapeCharacter(character));

/**
 * The same without the C0 characters, which JSON escapes by itself: text that is JSON stays JSON of
 * the same value.
 */
export const escapeHiddenInJson = (json: string): string =>
  json.replace(EACH, (character) => (character < ' ' ? character : escapeCharacter(character)));

const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
