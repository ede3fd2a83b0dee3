import { hmacSha256Hex, sha256Hex } from '../../../kernel/index.ts';
import type { BucketCredentials } from './types.ts';

/**
 * Signature Version 4 of AWS, which every server that speaks S3 understands:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html
 */

export type SigningKey = BucketCredentials & { region: string };

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** Percent-encodes all but the unreserved characters of RFC 3986. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/** The query in the order and encoding that signatures need. */
export function canonicalQuery(query: Record<string, string>): string {
  const pairs = Object.entries(query).map(([name, value]) => [encode(name), encode(value)] as const);
  return pairs
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

type Signed = { method: string; url: URL; headers: Record<string, string>; bodySha256: string };

/** All headers of the request, with the signature; `headers` have lower-case names. */
export function signHeaders(key: SigningKey, request: Signed, nowMs: number): Record<string, string> {
  const at = timestamp(nowMs);
  const headers = { ...request.headers, 'x-amz-content-sha256': request.bodySha256, 'x-amz-date': at };
  const { names, signature } = sign(key, { ...request, headers }, at);
  const credential = `${key.accessKeyId}/${toScope(key, at)}`;
  return {
    ...headers,
    authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

/** A link that reads `url` without credentials for `seconds`. */
export function presignUrl(
  key: SigningKey,
  { url, query, seconds }: { url: string; query: Record<string, string>; seconds: number },
  nowMs: number,
): string {
  const at = timestamp(nowMs);
  const signedQuery = canonicalQuery({
    ...query,
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': `${key.accessKeyId}/${toScope(key, at)}`,
    'X-Amz-Date': at,
    'X-Amz-Expires': String(seconds),
    'X-Amz-SignedHeaders': 'host',
  });
  const target = new URL(`${url}?${signedQuery}`);
  const { signature } = sign(key, { method: 'GET', url: target, headers: {}, bodySha256: 'UNSIGNED-PAYLOAD' }, at);
  return `${target.href}&X-Amz-Signature=${signature}`;
}

/** `20130524T000000Z`. */
const timestamp = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, '');

const toScope = ({ region }: SigningKey, at: string): string => `${at.slice(0, 8)}/${region}/s3/aws4_request`;

function sign(key: SigningKey, request: Signed, at: string): { names: string; signature: string } {
  const headers = Object.entries({ ...request.headers, host: request.url.host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = headers.map(([name]) => name).join(';');
  const canonical = [
    request.method,
    request.url.pathname,
    request.url.search.slice(1),
    ...headers.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, ' ')}`),
    '',
    names,
    request.bodySha256,
  ].join('\n');
  const text = [ALGORITHM, at, toScope(key, at), sha256Hex(canonical)].join('\n');
  const derived = [key.region, 's3', 'aws4_request'].reduce(
    (secret, part) => derive(secret, part),
    derive(`AWS4${key.secretAccessKey}`, at.slice(0, 8)),
  );
  return { names, signature: hmacSha256Hex(derived, text) };
}

const derive = (key: Uint8Array | string, text: string): Uint8Array => Buffer.from(hmacSha256Hex(key, text), 'hex');
