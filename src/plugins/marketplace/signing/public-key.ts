import { createPublicKey, type KeyObject } from 'node:crypto';

/**
 * A public key in minisign's form: the text in Base64 (`RWQ…`), and the id that names it, as
 * minisign prints it.
 */
export type PublicKey = { text: string; id: string };

const ALGORITHM = Buffer.from('Ed');
export const KEY_ID_BYTES = 8;
export const KEY_BYTES = 32;

/** The id of a key: its bytes are a number in little-endian order, written in hex. */
export const formatKeyId = (id: Uint8Array): string => Buffer.from(id).reverse().toString('hex').toUpperCase();

/** Decodes Base64 of exactly `bytes` bytes in its only spelling. */
export function decodeBase64(text: string, bytes: number): Buffer | undefined {
  if (text.length !== Math.ceil(bytes / 3) * 4) return undefined;
  const decoded = Buffer.from(text, 'base64');
  return decoded.length === bytes && decoded.toString('base64') === text ? decoded : undefined;
}

/** `undefined`: the text is no public key of minisign. White space around it does not matter. */
export function parsePublicKey(text: string): PublicKey | undefined {
  if (text.length > 200) return undefined;
  const trimmed = text.trim();
  const bytes = decodeBase64(trimmed, ALGORITHM.length + KEY_ID_BYTES + KEY_BYTES);
  if (!bytes?.subarray(0, ALGORITHM.length).equals(ALGORITHM)) return undefined;
  return { text: trimmed, id: formatKeyId(bytes.subarray(ALGORITHM.length, ALGORITHM.length + KEY_ID_BYTES)) };
}

/** The last line of a public key's file; the line before it is a comment. */
export function parsePublicKeyFile(text: string): PublicKey | undefined {
  if (text.length > 4096) return undefined;
  const [last, ...before] = text.trim().split(/\r?\n/).reverse();
  return before.length > 1 ? undefined : parsePublicKey(last ?? '');
}

export const writePublicKeyFile = ({ text, id }: PublicKey): string =>
  `untrusted comment: minisign public key ${id}\n${text}\n`;

export function writePublicKey(id: Uint8Array, key: Uint8Array): PublicKey {
  return { text: Buffer.concat([ALGORITHM, id, key]).toString('base64'), id: formatKeyId(id) };
}

/** The key for `node:crypto`. */
export function openPublicKey({ text }: PublicKey): KeyObject {
  const raw = Buffer.from(text, 'base64').subarray(ALGORITHM.length + KEY_ID_BYTES);
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' });
}
