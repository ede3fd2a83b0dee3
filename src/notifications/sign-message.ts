import { hmacSha256Base64, isOver, type SecretBox } from '../kernel/index.ts';
import { type ApiKeyRecord, FORMER_SECRET_SECONDS } from '../store/ports/index.ts';

/** A Standard Webhooks secret: this prefix, and its bytes in base64. */
const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

type SealedSecrets = Pick<ApiKeyRecord, 'webhookSecretSealed' | 'webhookFormers'>;

/**
 * The keys that sign at `now` (Unix seconds), the current one first. After a rotation the former
 * keys sign too, for 24 hours and ten at most (`auth/api-keys/rotate-webhook-secret.ts`). Empty
 * when the current key does not exist or cannot be decrypted: signatures of former keys alone would
 * soon be refused, without a warning to anyone.
 */
export function signingKeys(secretBox: SecretBox, key: SealedSecrets, now: number): Uint8Array[] {
  const current = openSecret(secretBox, key.webhookSecretSealed);
  if (!current) return [];
  const valid = key.webhookFormers.filter(({ until }) => !isOver(until, { now, longest: FORMER_SECRET_SECONDS }));
  return [current, ...valid.flatMap(({ sealed }) => openSecret(secretBox, sealed) ?? [])];
}

/** Whether webhooks of tasks that the key submits can be signed. */
export const canSign = (secretBox: SecretBox, key: Pick<SealedSecrets, 'webhookSecretSealed'>): boolean =>
  openSecret(secretBox, key.webhookSecretSealed) !== undefined;

function openSecret(secretBox: SecretBox, sealed: string | null): Uint8Array | undefined {
  return sealed === null ? undefined : readSecret(secretBox.open(sealed) ?? '');
}

/** The bytes of a secret in clear text; undefined when it has another form. */
export function readSecret(secret: string): Uint8Array | undefined {
  const text = SECRET.exec(secret)?.[1];
  return text === undefined ? undefined : Buffer.from(text, 'base64');
}

/**
 * The signature headers of a message (Standard Webhooks 1.0.0, scheme v1): HMAC-SHA256 over
 * `id.timestamp.body` with each key. `timestamp` is the time of the attempt in Unix seconds;
 * receivers refuse old ones.
 */
export const signatureHeaders = (
  keys: readonly Uint8Array[],
  message: { id: string; timestamp: number; body: string },
): Record<string, string> => ({
  'webhook-id': message.id,
  'webhook-timestamp': String(message.timestamp),
  'webhook-signature': keys
    .map((key) => `v1,${hmacSha256Base64(key, `${message.id}.${message.timestamp}.${message.body}`)}`)
    .join(' '),
});
