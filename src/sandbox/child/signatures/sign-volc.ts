import {
  basicIso,
  byBytes,
  canonicalHeaders,
  encodeRfc3986,
  headersOf,
  hmacSha256,
  isoSeconds,
  readSigningInput,
  sha256Hex,
} from './read-signing-input.ts';

type SignedHeaders = { Authorization: string; 'X-Date': string; 'X-Content-Sha256': string };

/** Form encoding as in the vendor's own clients: unreserved characters stay, a space is `+`. */
const encode = (text: string): string => encodeRfc3986(text).replaceAll('%20', '+');

/**
 * Signs a request in Volcengine's version 4 scheme. `input`: method, url, headers, body, accessKey,
 * secretKey, region (`cn-north-1`), service (`cv`), timestamp (unix seconds; 0 or none = now). The
 * case of these names does not matter, because published plugins write `Method` and `URL`.
 * `unixNow` is called where there is no timestamp.
 *
 * @throws when the URL has no host
 */
export function signVolcV4(input: unknown, unixNow: () => number): SignedHeaders {
  const given = readSigningInput('volcSignV4', input, unixNow);
  const { text } = given;
  const url = given.url();
  const region = text('region', 'cn-north-1');
  const service = text('service', 'cv');
  const date = basicIso(isoSeconds('volcSignV4', given.timestamp()));
  const day = date.slice(0, 8);
  const bodyHash = sha256Hex(text('body'));

  const headers = headersOf(given);
  headers.set('host', url.host);
  headers.set('x-date', date);
  headers.set('x-content-sha256', bodyHash);
  const { lines, names } = canonicalHeaders(headers);
  const query = [...url.searchParams]
    .sort(([a], [b]) => byBytes(a, b))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&');
  const method = text('method', 'GET').toUpperCase();
  const canonical = [method, url.pathname || '/', query, lines, names, bodyHash].join('\n');

  const scope = `${day}/${region}/${service}/request`;
  const key = hmacSha256(hmacSha256(hmacSha256(hmacSha256(text('secretKey'), day), region), service), 'request');
  const signature = hmacSha256(key, `HMAC-SHA256\n${date}\n${scope}\n${sha256Hex(canonical)}`).toString('hex');
  return {
    Authorization: `HMAC-SHA256 Credential=${text('accessKey')}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
    'X-Date': date,
    'X-Content-Sha256': bodyHash,
  };
}
