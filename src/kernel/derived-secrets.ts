/**
 * Decides which texts count as secrets beside a channel's key: what plugins make of it, and what
 * their requests carry as credentials.
 */
import { isObject, parseJson } from './json.ts';

/** Shorter values could be ordinary words. */
export const SHORTEST_SECRET = 8;
/**
 * Between dots, and under names that say nothing: a word must be long and mixed to be taken for a
 * credential.
 */
const SHORTEST_UNNAMED = 16;
const LONGEST = 8192;
const LONGEST_ADDRESS = 64 * 1024;
const MOST = 64;
const MOST_PARTS = 16;
/** Values of a body that are looked at. */
const MOST_VALUES = 2000;
const MAX_BODY_TEXT = 64 * 1024;

/** Names of headers, parameters and members that hold a credential. */
const CREDENTIAL_NAME =
  /authorization|cookie|(?:api|access|private|secret|subscription|app|auth)[-_]?key|secret|passw|credential|signature|jwt|(?:^|[-_])(?:sign?|auth)$|token$/i;
/** Further names of parameters in an address, where shorter names are usual. */
const CREDENTIAL_PARAMETER = /^(?:key|ak|sk)$/i;
/** Headers whose values are credentials beyond doubt: some vendors call a job's id a token. */
const CERTAIN_HEADER =
  /authorization|cookie|(?:api|access|private|secret|subscription|app|auth)[-_]?key|secret|passw|credential|signature|jwt|(?:^|[-_])(?:sign?|auth)$|(?:^|^x-|auth[-_]?|access[-_]?|api[-_]?|security[-_]?|session[-_]?)token$/i;
/** Headers that tell a vendor nothing that is secret. */
const HARMLESS_HEADER =
  /^(?:accept.*|content-.*|user-agent|host|origin|referer|date|x-date|range|if-.*|cache-control|connection|pragma|expect|te|prefer|traceparent|idempotency-key|.*request-id|.*-(?:version|beta|region|async|sha256|client))$/i;
/** What stands in a signed authorization besides credential and signature. */
const HARMLESS_PARAMETER = /^(?:signedheaders|headers|realm|algorithm|version|date|timestamp|nonce|expires)$/i;

/** An address or a host's name beside a key. */
const LOOKS_LIKE_HOST = /^(?:[a-z]+:)?\/\/[a-z\d.-]+(?:[/?#]|$)|^(?:[a-z][a-z\d-]{0,14}\.)+[a-z]{2,8}$/;
/** `cn-north-1`, `europe-west4`. */
const LOOKS_LIKE_REGION = /^[a-z]+(?:-[a-z]+)+-?\d{0,2}$/;

/** `certain`: for answers that hooks read again, where a vendor's id must not count as a secret. */
type Choice = { certain?: boolean };

const isMixed = (value: string): boolean =>
  value.length >= SHORTEST_UNNAMED && !/\s/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value);

/**
 * A channel's key and what plugins commonly make of it: the parts of `AK|SK`, and each of them in
 * Base64, hexadecimal and the form of HTTP's Basic. A service account's JSON gives its secret
 * members. Parts have at least 8 characters, those between dots 16. Hosts, regions and the header
 * of a JWT are not secrets. `certain`: only parts of 16 characters or more that hold letters and
 * digits, and no key of fewer than 8 characters.
 */
export function listKeySecrets(key: string, { certain = false }: Choice = {}): string[] {
  const parts = splitKey(key)
    // A private key has line breaks.
    .filter((part) => !isHarmless(part) && (!certain || isMixed(part.replace(/\s/g, ''))))
    .slice(0, MOST_PARTS);
  const [first, second] = parts;
  const pairs = first !== undefined && second !== undefined ? [`${first}:${second}`] : [];
  const derived = [key, ...pairs, `${key}:`, `:${key}`].flatMap((value) => listEncodings(value));
  return unique([key, ...parts, ...derived, ...parts.flatMap(listEncodings)], certain ? [] : [key]);
}

const isHarmless = (part: string): boolean =>
  LOOKS_LIKE_HOST.test(part) ||
  (part.length < SHORTEST_UNNAMED && LOOKS_LIKE_REGION.test(part)) ||
  (part.startsWith('eyJ') && isJwtHeader(part));

function isJwtHeader(part: string): boolean {
  const header = parseJson(Buffer.from(part, 'base64url').toString());
  return isObject(header) && 'alg' in header;
}

function splitKey(key: string): string[] {
  const account = key.trimStart().startsWith('{') ? parseJson(key) : undefined;
  if (isObject(account)) {
    const members = Object.entries(account as Record<string, unknown>);
    return members.flatMap(([name, value]) =>
      typeof value === 'string' && value.length >= SHORTEST_SECRET && /key|secret|token|passw/i.test(name)
        ? [value]
        : [],
    );
  }
  const parts = key.split(/[|:,;\s]+/).filter(({ length }) => length >= SHORTEST_SECRET);
  const words = key.split('.').filter(({ length }) => length >= SHORTEST_UNNAMED);
  return [...parts, ...words].filter((part) => part !== key);
}

function listEncodings(value: string): string[] {
  if (value.length < SHORTEST_SECRET || value.length > LONGEST / 2) return [];
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  // Padding is cut off: the form with it begins with this one.
  return [bytes.toString('base64').replace(/={1,2}$/, ''), bytes.toString('base64url'), hex, hex.toUpperCase()];
}

/**
 * What a plugin's request carries as credentials: values of headers that are not plainly harmless,
 * of parameters of the address and of members of the body that are named like one. At most 64. A
 * value that also stands in the path of the address is left out. `certain`: only headers whose
 * names leave no doubt.
 */
export function listRequestSecrets(described: unknown, { certain = false }: Choice = {}): string[] {
  if (!isObject(described)) return [];
  // A look-up describes its request in a member.
  if (isObject(described.request)) return listRequestSecrets(described.request, { certain });
  const { url, headers, body } = described as { url?: unknown; headers?: unknown; body?: unknown };
  const address = typeof url === 'string' && url.length <= LONGEST_ADDRESS ? URL.parse(url) : null;
  const found: string[] = [];
  if (isObject(headers)) {
    for (const [name, value] of Object.entries(headers as Record<string, unknown>)) {
      if (typeof value !== 'string' || HARMLESS_HEADER.test(name)) continue;
      if ((certain ? CERTAIN_HEADER : CREDENTIAL_NAME).test(name)) found.push(...credentialsIn(value));
      else if (isMixed(value) && !certain) found.push(value);
    }
  }
  if (!certain) {
    for (const [name, value] of address?.searchParams ?? []) {
      if (CREDENTIAL_NAME.test(name) || CREDENTIAL_PARAMETER.test(name)) found.push(value);
    }
    addFromBody(found, body);
  }
  const path = decodePath(address?.pathname ?? '');
  return unique(
    found.filter((value) => !path.includes(value)),
    [],
  );
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** `Bearer x` holds x, `HMAC-SHA256 Credential=a, Signature=b` a and b. */
function credentialsIn(value: string): string[] {
  const [scheme = '', ...rest] = value.trim().split(/\s+/);
  const credential = rest.length > 0 && /^[A-Za-z][\w-]*$/.test(scheme) ? rest.join(' ') : value.trim();
  const assigned = credential.split(/[,;\s]+/).flatMap((part) => {
    const at = part.indexOf('=');
    if (at <= 0 || at === part.length - 1 || HARMLESS_PARAMETER.test(part.slice(0, at))) return [];
    const whole = part.slice(at + 1).replace(/^"|"$/g, '');
    // A scope may follow the name of a key: `AK/20260101/region/service`.
    return [whole, whole.split('/')[0] ?? ''];
  });
  return [credential, ...assigned];
}

function addFromBody(found: string[], body: unknown): void {
  let seen = 0;
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { name: field, value: text } = value as { name?: unknown; value?: unknown };
    if (typeof field === 'string') add(field, text);
    for (const [name, member] of Object.entries(value)) {
      seen += 1;
      if (seen > MOST_VALUES) return;
      add(name, member);
      walk(member);
    }
  };
  const add = (name: string, value: unknown): void => {
    if (typeof value === 'string' && CREDENTIAL_NAME.test(name) && isMixed(value)) found.push(value);
  };
  const text =
    isObject(body) && (body as { kind?: unknown }).kind === 'text' ? (body as { text?: unknown }).text : body;
  if (typeof text !== 'string') walk(body);
  else if (text.length <= MAX_BODY_TEXT) walk(parseJson(text) ?? Object.fromEntries(new URLSearchParams(text)));
}

function unique(values: readonly string[], always: readonly string[]): string[] {
  const fit = values.filter(({ length }) => length >= SHORTEST_SECRET && length <= LONGEST);
  return [...new Set([...always, ...fit])].slice(0, MOST);
}
