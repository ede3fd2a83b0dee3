import { isObject, type Json } from '../../kernel/index.ts';

const REDACTED = '[redacted]';

/**
 * Names of members and headers whose text is a credential. Numbers are not redacted, because of
 * `total_tokens`.
 */
const SECRET_NAME =
  /^(?:proxy-)?authorization$|cookie|^auth_?header$|(?:api|access|private|subscription)[-_]?key|secret|passw|credential|^sign?$|signature|session[-_]?id|tokens?$/i;
/**
 * Parameters of signed URLs: `X-Amz-Signature=…`, `sig=…`, `access_token=…`, `key=…`.
 */
const PARAMETER = /([?&]([^=?&#\s"']*)=)[^&#\s"'<>]+/g;
const SECRET_PARAMETER = /token|sign|sig|secret|key|credential|auth|policy|passw|access|expires/i;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]{4,}/g;
const JWT = /(?<![\w-])eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g;
const API_KEY = /\bsk-[\w-]{16,}/g;

const cleanText = (text: string): string =>
  text
    .replace(PARAMETER, (whole, start: string, name: string) =>
      SECRET_PARAMETER.test(name) ? start + REDACTED : whole,
    )
    .replace(BEARER, `$1 ${REDACTED}`)
    .replace(JWT, REDACTED)
    .replace(API_KEY, REDACTED);

const redactTexts = (value: Json): Json => {
  if (typeof value === 'string') return value === '' ? '' : REDACTED;
  return Array.isArray(value) ? value.map(redactTexts) : value;
};

/**
 * A copy of a hook's argument or result, with everything redacted that looks like a credential: by
 * the name of its member or header, by its parameter in a URL, by its form. The channel's own key
 * has been redacted before, by its value.
 */
export function cleanExchange(value: Json): Json {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanExchange);
  if (!isObject(value)) return value;
  const members = Object.entries(value as { [key: string]: Json }).map(([name, member]): [string, Json] => [
    name,
    SECRET_NAME.test(name) ? cleanSecret(member) : cleanExchange(member),
  ]);
  return Object.fromEntries(members);
}

/** An authorization keeps its scheme, because the plugin's format depends on it. */
function cleanSecret(value: Json): Json {
  const scheme = typeof value === 'string' ? /^(?:Bearer|Basic)(?= )/.exec(value)?.[0] : undefined;
  if (scheme !== undefined) return `${scheme} ${REDACTED}`;
  return isObject(value) ? cleanExchange(value as Json) : redactTexts(value);
}

/** A placeholder for a channel's key, with the same parts: `ak|sk` becomes `redacted|redacted`. */
export const placeholderOf = (key: string): string => key.replace(/[^|:;,\s]+/g, 'redacted');

/**
 * Puts the placeholder where the channel's key was redacted in a context, so that a hook can split
 * it like the real one.
 */
export function insertPlaceholder(value: Json, placeholder: string): Json {
  if (!isObject(value)) return value;
  const members = Object.entries(value as { [key: string]: Json }).map(([name, member]): [string, Json] => [
    name,
    (name === 'apiKey' || name === 'authHeader') && member === REDACTED ? placeholder : member,
  ]);
  return Object.fromEntries(members);
}
