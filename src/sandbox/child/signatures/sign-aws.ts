import {
  basicIso,
  canonicalHeaders,
  encodeParameters,
  encodeRfc3986,
  hmacSha256,
  isoSeconds,
  readHeaders,
  readSigningInput,
  sha256Hex,
} from './read-signing-input.ts';

const ALGORITHM = 'AWS4-HMAC-SHA256';
const HASH_HEADER = 'x-amz-content-sha256';

/**
 * The path as AWS signs it: S3 encodes the name of an object once, and keeps every slash; all other
 * services encode the path of the request again, and read several slashes as one.
 */
function canonicalPath(pathname: string, once: boolean): string {
  const encode = (part: string): string => encodeRfc3986(once ? decodePart(part) : part);
  return (once ? pathname : pathname.replace(/\/{2,}/g, '/')).split('/').map(encode).join('/') || '/';
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Signs a request with AWS Signature Version 4. `input`: method, url, headers, body, accessKeyId,
 * secretAccessKey, sessionToken, region (`us-east-1`), service, pathEncoding (`once` for s3, else
 * `twice`), timestamp. A header `x-amz-content-sha256` replaces the digest of the body.
 *
 * @throws when the URL has no host, or there is no service
 */
export function signAwsV4(input: unknown, unixNow: () => number): Record<string, string> {
  const given = readSigningInput('awsSignV4', input, unixNow);
  const { text } = given;
  const url = given.url();
  const region = text('region', 'us-east-1');
  const service = text('service');
  if (service === '') throw new Error('awsSignV4: name the service, such as "s3"');
  const date = basicIso(isoSeconds('awsSignV4', given.timestamp()));
  const day = date.slice(0, 8);

  const headers = readHeaders(given);
  for (const [name, value] of headers) headers.set(name, value.replace(/\s+/g, ' '));
  const bodyHash = headers.get(HASH_HEADER) ?? sha256Hex(text('body'));
  headers.set('host', url.host);
  const added: Record<string, string> = { 'X-Amz-Date': date };
  if (service === 's3') added['X-Amz-Content-Sha256'] = bodyHash;
  if (text('sessionToken') !== '') added['X-Amz-Security-Token'] = text('sessionToken');
  for (const [name, value] of Object.entries(added)) headers.set(name.toLowerCase(), value);
  const { lines, names } = canonicalHeaders(headers);
  const once = text('pathEncoding', service === 's3' ? 'once' : 'twice') === 'once';
  const canonical = [
    text('method', 'GET').toUpperCase(),
    canonicalPath(url.pathname, once),
    encodeParameters(url.searchParams),
    lines,
    names,
    bodyHash,
  ].join('\n');

  const scope = `${day}/${region}/${service}/aws4_request`;
  const dayKey = hmacSha256(`AWS4${text('secretAccessKey')}`, day);
  const key = hmacSha256(hmacSha256(hmacSha256(dayKey, region), service), 'aws4_request');
  const signature = hmacSha256(key, `${ALGORITHM}\n${date}\n${scope}\n${sha256Hex(canonical)}`).toString('hex');
  return {
    Authorization: `${ALGORITHM} Credential=${text('accessKeyId')}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
    ...added,
  };
}
