import { createHmac } from 'node:crypto';
import {
  canonicalHeaders,
  encodeParameters,
  encodeRfc3986,
  hmacSha256,
  isoSeconds,
  readHeaders,
  readSigningInput,
  sha256Hex,
} from './read-signing-input.ts';

const ALGORITHM = 'ACS3-HMAC-SHA256';

/** `nonce` gives a new one; both are called only where the plugin gives no value of its own. */
type Fresh = { unixNow(): number; nonce(): string };

/**
 * Signs a request with Aliyun's signature V3. `input`: method (POST), url, headers, body,
 * accessKeyId, accessKeySecret, securityToken, action, version, nonce, timestamp. Gives the headers
 * to add to those that were given.
 *
 * @throws when the URL has no host
 */
export function signAliyunV3(input: unknown, fresh: Fresh): Record<string, string> {
  const given = readSigningInput('aliyunSignV3', input, fresh.unixNow);
  const { text } = given;
  const url = given.url();
  const bodyHash = sha256Hex(text('body'));
  const added: Record<string, string> = {
    'x-acs-action': text('action'),
    'x-acs-version': text('version'),
    'x-acs-date': isoSeconds('aliyunSignV3', given.timestamp()),
    'x-acs-signature-nonce': text('nonce') || fresh.nonce(),
    'x-acs-content-sha256': bodyHash,
    'x-acs-security-token': text('securityToken'),
  };
  for (const [name, value] of Object.entries(added)) if (value === '') delete added[name];

  const headers = new Map(
    [...readHeaders(given), ...Object.entries(added), ['host', url.host] as const].filter(
      ([name]) => name === 'host' || name === 'content-type' || name.startsWith('x-acs-'),
    ),
  );
  const { lines, names } = canonicalHeaders(headers);
  const canonical = [
    text('method', 'POST').toUpperCase(),
    url.pathname || '/',
    encodeParameters(url.searchParams),
    lines,
    names,
    bodyHash,
  ].join('\n');
  const signature = hmacSha256(text('accessKeySecret'), `${ALGORITHM}\n${sha256Hex(canonical)}`).toString('hex');
  const credential = `Credential=${text('accessKeyId')},SignedHeaders=${names},Signature=${signature}`;
  return { Authorization: `${ALGORITHM} ${credential}`, ...added };
}

/**
 * Signs the parameters of an Aliyun request in RPC style (`SignatureVersion` 1.0). `input`: method
 * (POST), params, accessKeyId, accessKeySecret, securityToken, action, version, format (JSON),
 * nonce, timestamp. Gives all parameters with the signature, for a query or a form.
 */
export function signAliyunRpc(input: unknown, fresh: Fresh): Record<string, string> {
  const given = readSigningInput('aliyunSignRPC', input, fresh.unixNow);
  const { text } = given;
  const own = given.members('params').map(([name, value]): [string, string] => [name, String(value ?? '')]);
  const parameters = new Map<string, string>([
    ...own,
    ['AccessKeyId', text('accessKeyId')],
    ['Format', text('format', 'JSON')],
    ['SignatureMethod', 'HMAC-SHA1'],
    ['SignatureNonce', text('nonce') || fresh.nonce()],
    ['SignatureVersion', '1.0'],
    ['Timestamp', isoSeconds('aliyunSignRPC', given.timestamp())],
  ]);
  for (const name of ['Action', 'Version', 'SecurityToken']) {
    const value = text(name);
    if (value !== '') parameters.set(name, value);
  }
  const signed = `${text('method', 'POST').toUpperCase()}&%2F&${encodeRfc3986(encodeParameters(parameters))}`;
  const signature = createHmac('sha1', `${text('accessKeySecret')}&`)
    .update(signed)
    .digest('base64');
  return Object.fromEntries([...parameters, ['Signature', signature]]);
}
