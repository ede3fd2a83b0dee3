import {
  basicIso,
  byBytes,
  canonicalHeaders,
  encodeRfc3986,
  hmacSha256,
  isoSeconds,
  readHeaders,
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

  const headers = readHeaders(given);
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

const ALGORITHM = 'TC3-HMAC-SHA256';
const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Signs a request with Tencent Cloud's signature method v3. `input`: method (POST), url, body,
 * secretId, secretKey, token, service (the first label of the host), action, version, region,
 * contentType, timestamp. Gives the headers that belong to the request, those that are not signed
 * included.
 *
 * @throws when the URL has no host
 */
export function signTencentTc3(input: unknown, unixNow: () => number): Record<string, string> {
  const given = readSigningInput('tencentSignTC3', input, unixNow);
  const { text } = given;
  const url = given.url();
  const timestamp = given.timestamp();
  const day = isoSeconds('tencentSignTC3', timestamp).slice(0, 10);
  const service = text('service', url.hostname.split('.')[0]);
  const contentType = text('contentType', JSON_TYPE);
  const action = text('action');

  const signed = new Map([
    ['content-type', contentType.trim().toLowerCase()],
    ['host', url.host],
  ]);
  if (action !== '') signed.set('x-tc-action', action.toLowerCase());
  const { lines, names } = canonicalHeaders(signed);
  // The query is signed as it is sent.
  const method = text('method', 'POST').toUpperCase();
  const canonical = [method, '/', url.search.slice(1), lines, names, sha256Hex(text('body'))].join('\n');

  const scope = `${day}/${service}/tc3_request`;
  const key = hmacSha256(hmacSha256(hmacSha256(`TC3${text('secretKey')}`, day), service), 'tc3_request');
  const signature = hmacSha256(key, `${ALGORITHM}\n${timestamp}\n${scope}\n${sha256Hex(canonical)}`).toString('hex');
  const named = { 'X-TC-Action': action, 'X-TC-Version': text('version'), 'X-TC-Region': text('region') };
  const present = Object.entries({ ...named, 'X-TC-Token': text('token') }).filter(([, value]) => value !== '');
  return {
    Authorization: `${ALGORITHM} Credential=${text('secretId')}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
    'Content-Type': contentType,
    'X-TC-Timestamp': String(timestamp),
    ...Object.fromEntries(present),
  };
}
