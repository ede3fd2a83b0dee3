import { isObject, type Json } from '../../kernel/index.ts';

const GONE = '[redacted]';

/**
 * Names of members and headers whose text is a credential. Numbers stay: `total_tokens` is none.
 */
const SECRET_NAME =
  /^(?:proxy-)?authorization$|cookie|^auth_?header$|(?:api|access|private|subscription)[-_]?key|secret|passw|credential|^sign?$|signature|session[-_]?id|tokens?$/i;
/**
 * Parameters of signed and authorised addresses: `X-Amz-Signature=…`, `sig=…`, `access_token=…`,
 * `key=…`.
 */
const PARAMETER = /([?&]([^=?&#\s"']*)=)[^&#\s"'<>]+/g;
const SECRET_PARAMETER = /token|sign|sig|secret|key|credential|auth|policy|passw|access|expires/i;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]{4,}/g;
const JWT = /(?<![\w-])eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g;
const API_KEY = /\bsk-[\w-]{16,}/g;

const cleanText = (text: string): string =>
  text
    .replace(PARAMETER, (whole, start: string, name: string) => (SECRET_PARAMETER.test(name) ? start + GONE : whole))
    .replace(BEARER, `$1 ${GONE}`)
    .replace(JWT, GONE)
    .replace(API_KEY, GONE);

const hide = (value: Json): Json => {
  if (typeof value === 'string') return value === '' ? '' : GONE;
  return Array.isArray(value) ? value.map(hide) : value;
};

/**
 * A copy of a hook's argument or result without what looks like a credential: by the name of its
 * member or header, by its place in an address, by its form. The channel's own key has been taken
 * out before, by its value.
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

/** An authorization keeps its scheme, which says how the vendor is spoken to. */
function cleanSecret(value: Json): Json {
  const scheme = typeof value === 'string' ? /^(?:Bearer|Basic)(?= )/.exec(value)?.[0] : undefined;
  if (scheme !== undefined) return `${scheme} ${GONE}`;
  return isObject(value) ? cleanExchange(value as Json) : hide(value);
}

/**
 * Stands for a channel's key in a recorded call and has its parts: `ak|sk` becomes
 * `redacted|redacted`.
 */
export const standInOf = (key: string): string => key.replace(/[^|:;,\s]+/g, 'redacted');

/**
 * A cleaned context with the stand-in where the channel's key was, so that a hook can take it apart
 * as it does the real one.
 */
export function putStandIn(value: Json, standIn: string): Json {
  if (!isObject(value)) return value;
  const members = Object.entries(value as { [key: string]: Json }).map(([name, member]): [string, Json] => [
    name,
    (name === 'apiKey' || name === 'authHeader') && member === GONE ? standIn : member,
  ]);
  return Object.fromEntries(members);
}
