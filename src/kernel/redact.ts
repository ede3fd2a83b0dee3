import { isObject, type Json } from './json.ts';

const CONTROL = /\p{Cc}/gu;

/** Shorter secrets would redact ordinary words. */
const SHORTEST_SECRET = 4;
/**
 * This many leading characters of a secret at the end of a text count as the secret, truncated
 * there.
 */
const SHORTEST_CUT = 8;
const GONE = '[redacted]';
/** Size of the shift table of the search. */
const SLOTS = 4096;

/** Secrets to replace, or how to find them once there is a text. */
export type Secrets = readonly (string | undefined)[] | (() => readonly (string | undefined)[]);

/** Returns a text with every secret replaced. */
export type Redactor = (text: string) => string;

/**
 * Replaces secrets as they are, JSON-escaped, URL-encoded, flattened to one line (a service
 * account's key is multi-line JSON that messages quote and flatten), and truncated by the end of
 * the text. Secrets shorter than four characters are left. A text is searched for all of them at
 * once (Wu and Manber, "A fast algorithm for multi-pattern searching", 1994).
 */
export function createRedactor(secrets: Secrets): Redactor {
  return createLazily(secrets, (forms) => {
    const replace = createReplacer(forms);
    return (text) => forms.reduce(withoutCut, replace(text));
  });
}

/** Redacts texts that are not truncated. */
export function createWholeRedactor(secrets: Secrets): Redactor {
  return createLazily(secrets, createReplacer);
}

/** Most redactors never meet a text: secrets and tables are only computed for the first one. */
function createLazily(secrets: Secrets, create: (forms: readonly string[]) => Redactor): Redactor {
  let redact: Redactor | undefined;
  return (text) => {
    if (text === '') return text;
    if (redact === undefined) {
      const forms = listForms(listSecrets(secrets));
      redact = forms.length === 0 ? (clean) => clean : create(forms);
    }
    return redact(text);
  };
}

/** Redacts one text. Create a redactor for several texts. */
export const redactSecrets = (text: string, secrets: Secrets): string => createRedactor(secrets)(text);

export const listSecrets = (secrets: Secrets): readonly (string | undefined)[] =>
  typeof secrets === 'function' ? secrets() : secrets;

/** The longest first, because one may be a prefix of another. */
function listForms(secrets: readonly (string | undefined)[]): string[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (!secret || secret.length < SHORTEST_SECRET) continue;
    forms.add(secret);
    forms.add(JSON.stringify(secret).slice(1, -1));
    forms.add(secret.replace(CONTROL, ' '));
    forms.add(encodeURIComponent(secret.toWellFormed()));
  }
  return [...forms].sort((a, b) => b.length - a.length);
}

function createReplacer(forms: readonly string[]): Redactor {
  const window = Math.min(...forms.map(({ length }) => length));
  const findSlot = (text: string, at: number): number =>
    (text.charCodeAt(at - 1) * 31 + text.charCodeAt(at)) & (SLOTS - 1);
  const jumps = new Uint16Array(SLOTS).fill(window - 1);
  /** Forms by the last pair of characters within their window. */
  const candidates = new Map<number, string[]>();
  for (const form of forms) {
    for (let at = 1; at < window; at += 1) {
      const slot = findSlot(form, at);
      jumps[slot] = Math.min(jumps[slot] ?? 0, window - 1 - at);
    }
    const last = findSlot(form, window - 1);
    candidates.set(last, [...(candidates.get(last) ?? []), form]);
  }

  return (text) => {
    let out = '';
    let kept = 0;
    for (let at = window - 1; at < text.length; ) {
      const slot = findSlot(text, at);
      const jump = jumps[slot] ?? 0;
      if (jump > 0) {
        at += jump;
        continue;
      }
      const begin = at - window + 1;
      const found = candidates.get(slot)?.find((form) => text.startsWith(form, begin));
      if (found === undefined) {
        at += 1;
        continue;
      }
      out += text.slice(kept, begin) + GONE;
      kept = begin + found.length;
      at = kept + window - 1;
    }
    return kept === 0 ? text : out + text.slice(kept);
  };
}

function withoutCut(text: string, secret: string): string {
  if (secret.length <= SHORTEST_CUT) return text;
  const beginning = secret.slice(0, SHORTEST_CUT);
  // A truncated secret is shorter than the secret, so earlier positions need no check.
  const from = Math.max(0, text.length - secret.length);
  for (let at = text.indexOf(beginning, from); at !== -1; at = text.indexOf(beginning, at + 1)) {
    if (secret.startsWith(text.slice(at))) return `${text.slice(0, at)}${GONE}`;
  }
  return text;
}

/**
 * Makes a message from a plugin or a vendor safe for a caller: no hidden characters, at most `max`
 * code points.
 */
export function sanitizeMessage(text: string, max = 512): string {
  // Looks only at as much of a large text as can be shown: a code point has up to two units, and
  // some are removed.
  const clean = removeHiddenCharacters(text.trimStart().slice(0, 4 * max)).trim();
  const points = [...clean];
  return points.length > max ? points.slice(0, max).join('') : clean;
}

/** A copy of `value` as JSON in which no text, member names included, contains one of `secrets`. */
export const redactJson = (value: unknown, secrets: Secrets): Json | undefined =>
  redactJsonWith(createWholeRedactor(secrets), value);

/** Redacts several values: the search for the secrets is prepared once. */
export function redactJsonWith(redact: Redactor, value: unknown): Json | undefined {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactJsonWith(redact, item) ?? null);
  if (isObject(value)) {
    const members = Object.entries(value).flatMap(([name, member]) => {
      const clean = redactJsonWith(redact, member);
      return clean === undefined ? [] : [[redact(name), clean] as const];
    });
    return Object.fromEntries(members);
  }
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : undefined;
}

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

const WORD = /^\S{1,64}$/u;

/** Whether options may name a group like this: in any script, without blanks. */
export const isGroupName = (name: string): boolean => WORD.test(name) && !hasHiddenCharacters(name);

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
 * Escapes hidden characters except for C0 ones, which JSON escapes itself: JSON text stays JSON of
 * the same value.
 */
export const escapeHiddenInJson = (json: string): string =>
  PLAIN.test(json)
    ? json
    : json.replace(EACH, (character) => (character < ' ' ? character : escapeCharacter(character)));

const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
