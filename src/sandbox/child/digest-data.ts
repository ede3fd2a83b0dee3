import { createHash, createHmac } from 'node:crypto';

const HASHES = ['md5', 'sha1', 'sha256', 'sha384', 'sha512'] as const;
const ENCODINGS = ['hex', 'base64', 'base64url', 'bytes'] as const;
const TEXT_ENCODINGS = ['utf8', 'hex', 'base64', 'base64url'] as const;
type Hash = (typeof HASHES)[number];

/** Largest text or bytes whose result is longer than itself. */
const MAX_GROWING_BYTES = 1_048_576;

function oneOf<T extends string>(
  fn: string,
  value: unknown,
  { allowed, what }: { allowed: readonly T[]; what: string },
): T {
  const found = allowed.find((name) => name === value);
  if (found === undefined) throw new Error(`${fn}: ${what} must be one of ${allowed.join(', ')}`);
  return found;
}

/** Bytes come as `{hex}`, which the guest has made of numbers; anything else is a text. */
export const toBuffer = (value: unknown): Buffer =>
  typeof value === 'object' && value !== null && 'hex' in value
    ? Buffer.from(String(value.hex), 'hex')
    : Buffer.from(String(value), 'utf8');

/** A text, or the list of numbers that the guest turns into bytes. */
function encodeDigest(fn: string, digest: Buffer, encoding: unknown): string | number[] {
  const as = oneOf(fn, encoding, { allowed: ENCODINGS, what: 'the encoding' });
  return as === 'bytes' ? [...digest] : digest.toString(as);
}

export const digestData = (hash: Hash, data: unknown, encoding: unknown): string | number[] =>
  encodeDigest(hash, createHash(hash).update(toBuffer(data)).digest(), encoding);

type Keyed = Record<'algorithm' | 'encoding' | 'key' | 'message', unknown>;

export function hmacData({ algorithm, key, message, encoding }: Keyed): string | number[] {
  const hash = oneOf('hmac', algorithm, { allowed: HASHES, what: 'the algorithm' });
  return encodeDigest('hmac', createHmac(hash, toBuffer(key)).update(toBuffer(message)).digest(), encoding);
}

/** The bytes of a text. `hex` and `base64` are checked: decoders skip what they do not know. */
export function decodeBytes(text: unknown, encoding: unknown): number[] {
  const from = oneOf('bytes', encoding, { allowed: TEXT_ENCODINGS, what: 'the encoding' });
  const written = limitText('bytes', text);
  const plain = from === 'base64' || from === 'base64url' ? written.replace(/={1,2}$/, '') : written;
  const valid =
    from === 'utf8' ||
    (from === 'hex'
      ? plain.length % 2 === 0 && !/[^0-9a-f]/i.test(plain)
      : plain.length % 4 !== 1 && !(from === 'base64' ? /[^A-Za-z0-9+/]/ : /[^A-Za-z0-9_-]/).test(plain));
  if (!valid) throw new Error(`bytes: the text is not ${from}`);
  const bytes = Buffer.from(plain, from);
  if (bytes.length > MAX_GROWING_BYTES) throw new Error(`bytes: they are over the limit of ${MAX_GROWING_BYTES}`);
  return [...bytes];
}

/** @throws when the text is too long for a result that is longer than itself */
export function limitText(fn: string, value: unknown): string {
  const text = String(value);
  if (text.length > MAX_GROWING_BYTES) {
    throw new Error(`${fn}: the text is longer than the limit of ${MAX_GROWING_BYTES} characters`);
  }
  return text;
}
