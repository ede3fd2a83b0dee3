import { createHash, sign, verify } from 'node:crypto';
import type { SigningKey } from './signing-keys.ts';
import { decodeBase64, formatKeyId, KEY_ID_BYTES, openPublicKey, type PublicKey } from './signing-keys.ts';

/** A detached signature, as minisign writes it. Nothing in it is checked yet. */
export type Signature = {
  /** The id of the key that is said to have signed. */
  keyId: string;
  signature: Buffer;
  trustedComment: string;
  /** Signs signature and trusted comment together. */
  commentSignature: Buffer;
};

/** minisign's mark for a signature of a file's BLAKE2b hash, the only kind that is accepted. */
const HASHED = Buffer.from('ED');
const SIGNATURE_BYTES = 64;
const UNTRUSTED = 'untrusted comment: ';
const TRUSTED = 'trusted comment: ';
/** Far more than a signature with two comments has. */
export const MAX_SIGNATURE_BYTES = 16_384;

/** What a signature signs. It is computed once for a large file, which takes milliseconds. */
export type SignedHash = { blake2b: Uint8Array };

export const hashData = (data: Uint8Array): SignedHash => ({
  blake2b: createHash('blake2b512').update(data).digest(),
});

/** Signs `data`; `comment` is one line, and is signed with it. */
export function signData({ id, secret, publicKey }: SigningKey, data: Uint8Array, comment: string): string {
  const signature = sign(null, hashData(data).blake2b, secret);
  const commentSignature = sign(null, Buffer.concat([signature, Buffer.from(comment)]), secret);
  return [
    `${UNTRUSTED}signature from minisign secret key ${publicKey.id}`,
    Buffer.concat([HASHED, id, signature]).toString('base64'),
    `${TRUSTED}${comment}`,
    commentSignature.toString('base64'),
    '',
  ].join('\n');
}

/** `undefined`: the text is not a signature of minisign, or one of the kind before hashing. */
export function readSignature(text: string): Signature | undefined {
  if (text.length > MAX_SIGNATURE_BYTES) return undefined;
  const [untrusted = '', first = '', trusted = '', last = '', ...others] = text.trim().split(/\r?\n/);
  if (others.length > 0 || !untrusted.startsWith(UNTRUSTED) || !trusted.startsWith(TRUSTED)) return undefined;
  const bytes = decodeBase64(first, HASHED.length + KEY_ID_BYTES + SIGNATURE_BYTES);
  const commentSignature = decodeBase64(last, SIGNATURE_BYTES);
  if (!commentSignature || !bytes?.subarray(0, HASHED.length).equals(HASHED)) return undefined;
  return {
    keyId: formatKeyId(bytes.subarray(HASHED.length, HASHED.length + KEY_ID_BYTES)),
    signature: bytes.subarray(HASHED.length + KEY_ID_BYTES),
    trustedComment: trusted.slice(TRUSTED.length),
    commentSignature,
  };
}

/** Whether `signed` is a signature of the data with this hash, and of its own comment, by `key`. */
export function verifySignature(key: PublicKey, { blake2b }: SignedHash, signed: Signature): boolean {
  if (signed.keyId !== key.id) return false;
  try {
    const opened = openPublicKey(key);
    const commented = Buffer.concat([signed.signature, Buffer.from(signed.trustedComment)]);
    return verify(null, blake2b, opened, signed.signature) && verify(null, commented, opened, signed.commentSignature);
  } catch {
    // The bytes are not a point of the curve.
    return false;
  }
}
