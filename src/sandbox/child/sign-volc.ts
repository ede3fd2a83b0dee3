import { createHash, createHmac } from 'node:crypto';

type SignedHeaders = { Authorization: string; 'X-Date': string; 'X-Content-Sha256': string };

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Form encoding as in the vendor's own clients: unreserved characters stay, a space is `+`. */
const encode = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/**
 * Signs a request in Volcengine's version 4 scheme. `input`: method, url, headers, body, accessKey,
 * secretKey, region (`cn-north-1`), service (`cv`), timestamp (unix seconds; 0 or none = now). The
 * case of these names does not matter, because published plugins write `Method` and `URL`.
 * `unixNow` is called where there is no timestamp.
 *
 * @throws when the URL has no host
 */
export function signVolcV4(input: unknown, unixNow: () => number): SignedHeaders {
  const members = typeof input === 'object' && input !== null ? Object.entries(input) : [];
  const given = new Map<string, unknown>(members.map(([name, value]) => [name.toLowerCase(), value]));
  const read = (name: string): unknown => given.get(name.toLowerCase());
  const text = (name: string, fallback = ''): string => String(read(name) ?? '') || fallback;

  const address = text('url');
  if (!URL.canParse(address) || new URL(address).host === '') throw new Error('volcSignV4: the url has no host');
  const url = new URL(address);
  const region = text('region', 'cn-north-1');
  const service = text('service', 'cv');
  const timestamp = Number(read('timestamp') ?? 0) || unixNow();
  const date = new Date(Math.trunc(timestamp) * 1000)
    .toISOString()
    .replace(/[-:]/g, '')
    .replace(/\.\d+Z$/, 'Z');
  const day = date.slice(0, 8);
  const bodyHash = sha256(text('body'));

  const headers = new Map<string, string>();
  const givenHeaders = read('headers');
  if (typeof givenHeaders === 'object' && givenHeaders !== null) {
    for (const [name, value] of Object.entries(givenHeaders)) {
      headers.set(name.trim().toLowerCase(), String(value ?? '').trim());
    }
  }
  headers.set('host', url.host);
  headers.set('x-date', date);
  headers.set('x-content-sha256', bodyHash);
  const names = [...headers.keys()].sort(byBytes);
  const signedHeaders = names.join(';');
  const query = [...url.searchParams]
    .sort(([a], [b]) => byBytes(a, b))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&');
  const canonical = [
    text('method', 'GET').toUpperCase(),
    url.pathname || '/',
    query,
    names.map((name) => `${name}:${headers.get(name)}\n`).join(''),
    signedHeaders,
    bodyHash,
  ].join('\n');

  const scope = `${day}/${region}/${service}/request`;
  const key = hmac(hmac(hmac(hmac(text('secretKey'), day), region), service), 'request');
  const signature = hmac(key, `HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`).toString('hex');
  return {
    Authorization: `HMAC-SHA256 Credential=${text('accessKey')}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`,
    'X-Date': date,
    'X-Content-Sha256': bodyHash,
  };
}
