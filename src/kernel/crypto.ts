import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';

export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex');

export const hmacSha256Hex = (key: Uint8Array | string, data: string): string =>
  createHmac('sha256', key).update(data).digest('hex');

export const hmacSha256Base64Url = (key: Uint8Array | string, data: string): string =>
  createHmac('sha256', key).update(data).digest('base64url');

export const hmacSha256Base64 = (key: Uint8Array, data: string): string =>
  createHmac('sha256', key).update(data).digest('base64');

/**
 * A 32-byte key for one purpose. `purpose` carries a version (`access.v1`), so that no key serves
 * two purposes.
 */
export const deriveKey = (secret: string, purpose: string): Uint8Array =>
  createHmac('sha256', secret).update(`taskgate:${purpose}`).digest();

/** Compares two strings in time that depends on their lengths only. */
export function constantTimeEqual(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * The secrets of a comma-separated list. `%2C` stands for a comma within one; a secret that has
 * these three characters itself is read as it is, too.
 */
export const readSecretList = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .flatMap((item) => [...new Set([item.replaceAll(/%2C/gi, ','), item])]);

export const writeSecretList = (secrets: readonly string[]): string =>
  [...new Set(secrets.map((secret) => secret.replaceAll(',', '%2C')))].join(',');

/** Encrypts secrets at rest (AES-256-GCM). Text form: `v1.<iv>.<tag>.<ciphertext>`, base64url. */
export interface SecretBox {
  seal(plain: string): string;
  /** The clear text, or `undefined` when no current or previous secret opens it. */
  open(sealed: string): string | undefined;
  /**
   * Seals the clear text under the current secret. Returns the value itself where it is sealed so
   * already, `undefined` where no secret opens it.
   */
  reseal(sealed: string): string | undefined;
}

/**
 * `secrets[0]` encrypts; all of them decrypt, so that stored values stay readable after a rotation
 * of `CRYPTO_SECRET`.
 */
export function createSecretBox(secrets: readonly [string, ...string[]]): SecretBox {
  const keys = secrets.map((secret) => deriveKey(secret, 'secret-box.v1'));
  const current = keys[0] as Uint8Array;
  const box: SecretBox = {
    reseal(sealed) {
      // The tag tells under which key a value was sealed.
      if (openWith(current, sealed) !== undefined) return sealed;
      const plain = box.open(sealed);
      return plain === undefined ? undefined : box.seal(plain);
    },
    seal(plain) {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', current, iv);
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return `v1.${iv.toString('base64url')}.${cipher.getAuthTag().toString('base64url')}.${body.toString('base64url')}`;
    },
    open(sealed) {
      for (const key of keys) {
        const plain = openWith(key, sealed);
        if (plain !== undefined) return plain;
      }
      return undefined;
    },
  };
  return box;
}

function openWith(key: Uint8Array, sealed: string): string | undefined {
  const [version, iv, tag, body] = sealed.split('.');
  if (version !== 'v1' || !iv || !tag || body === undefined) return undefined;
  try {
    // Requires the full tag: a truncated one is easier to forge.
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), { authTagLength: 16 });
    decipher.setAuthTag(Buffer.from(tag, 'base64url'));
    return Buffer.concat([decipher.update(Buffer.from(body, 'base64url')), decipher.final()]).toString('utf8');
  } catch {
    // Sealed under another secret.
    return undefined;
  }
}
