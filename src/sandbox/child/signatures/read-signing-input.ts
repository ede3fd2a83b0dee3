import { createHash, createHmac } from 'node:crypto';

export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
export const hmacSha256 = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** What a plugin gives to a signing function. */
export type SigningInput = {
  /** A member by its name, whose case does not matter; `fallback` if it is missing or empty. */
  text(name: string, fallback?: string): string;
  /** The named text members of an object, with values as they were given. */
  members(name: string): [name: string, value: unknown][];
  /** @throws when the URL has no host */
  url(): URL;
  /** Unix seconds: `timestamp`, or else (also for 0) the time now. */
  timestamp(): number;
};

/** `fn`: the name for messages. `unixNow` is called where there is no timestamp. */
export function readSigningInput(fn: string, input: unknown, unixNow: () => number): SigningInput {
  const entries = typeof input === 'object' && input !== null ? Object.entries(input) : [];
  const given = new Map<string, unknown>(entries.map(([name, value]) => [name.toLowerCase(), value]));
  const text = (name: string, fallback = ''): string => String(given.get(name.toLowerCase()) ?? '') || fallback;
  return {
    text,
    members(name) {
      const value = given.get(name.toLowerCase());
      return typeof value === 'object' && value !== null ? Object.entries(value) : [];
    },
    url() {
      const url = URL.parse(text('url'));
      if (!url || url.host === '') throw new Error(`${fn}: the url has no host`);
      return url;
    },
    timestamp: () => Math.trunc(Number(given.get('timestamp') ?? 0) || unixNow()),
  };
}

/** Given headers by lower-case name, without spaces around their values. */
export const readHeaders = (input: SigningInput): Map<string, string> =>
  new Map(input.members('headers').map(([name, value]) => [name.trim().toLowerCase(), String(value ?? '').trim()]));

/** The lines of signed headers, each with its end, and their names as one text. */
export function canonicalHeaders(headers: ReadonlyMap<string, string>): { lines: string; names: string } {
  const names = [...headers.keys()].sort(byBytes);
  return { lines: names.map((name) => `${name}:${headers.get(name)}\n`).join(''), names: names.join(';') };
}

/** Unreserved characters of RFC 3986 stay; every other byte of the UTF-8 text is escaped. */
export const encodeRfc3986 = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Encoded parameters, sorted by encoded name and value. */
export const encodeParameters = (parameters: Iterable<readonly [name: string, value: string]>): string =>
  [...parameters]
    .map(([name, value]) => [encodeRfc3986(name), encodeRfc3986(value)] as const)
    .sort(([a, x], [b, y]) => byBytes(a, b) || byBytes(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');

/** `2023-10-26T10:22:32Z` */
export function isoSeconds(fn: string, unixSeconds: number): string {
  const date = new Date(unixSeconds * 1000);
  if (Number.isNaN(date.getTime())) throw new Error(`${fn}: the timestamp is not a time in Unix seconds`);
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** `20231026T102232Z` */
export const basicIso = (iso: string): string => iso.replace(/[-:]/g, '');
