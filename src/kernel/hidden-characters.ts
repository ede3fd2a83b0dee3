/**
 * Characters that are invisible or change the order in which others are shown: control characters,
 * line and paragraph separators, bidirectional controls (UAX #9), and invisible ones that make two
 * names look the same.
 */
const HIDDEN =
  '[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Bidi_Control}\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb]';
/**
 * Joiners, tags and variation selectors are useful in Arabic, Persian and Indic words, after Han
 * characters and in emoji, and signs of musical phrases in notes; after ASCII they only hide. The
 * selector U+FE0F makes an emoji of a digit.
 */
const IDLE =
  '(^|\\p{ASCII})[\\u200c\\u200d\\ufe00-\\ufe0e\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e007f}\\u{e0100}-\\u{e01ef}]+';

const ANY = new RegExp(`${HIDDEN}|${IDLE}`, 'u');
const EACH = new RegExp(HIDDEN, 'gu');
const EACH_IDLE = new RegExp(IDLE, 'gu');
const SEPARATOR = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Whether a text must not be used as a name. */
export const hasHiddenCharacters = (text: string): boolean => ANY.test(text) || !text.isWellFormed();

/** Removes hidden characters: separators become a space, others are dropped. */
export const removeHiddenCharacters = (text: string): string =>
  text
    .toWellFormed()
    .replace(EACH, (character) => (SEPARATOR.test(character) ? ' ' : ''))
    .replace(EACH_IDLE, '$1');

/** JSON text of which nothing needs an escape: the common case, which is found fastest. */
const PLAIN = /^[\n -~]*$/;
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Escapes hidden characters, so that the text stays on one line and cannot control a terminal:
 * `\n`, `\u001b`.
 */
export const escapeHiddenCharacters = (text: string): string =>
  text.replace(EACH, (character) => SHORT[character] ?? escapeCharacter(character));

/**
 * The same except for C0 characters, which JSON escapes itself: JSON text stays JSON of the same
 * value.
 */
export const escapeHiddenInJson = (json: string): string =>
  PLAIN.test(json)
    ? json
    : json.replace(EACH, (character) => (character < ' ' ? character : escapeCharacter(character)));

const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
