import { hmacSha256Base64, type SecretBox } from '../../kernel/index.ts';
import type { ApiKeyRecord } from '../../store/ports/index.ts';

/** How a Standard Webhooks secret is written: this, and its bytes in base64. */
const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

type SealedSecrets = Pick<ApiKeyRecord, 'webhookSecretSealed' | 'webhookFormers'>;

/**
 * The keys that sign at `now` (Unix seconds), the present one first; after a rotation those before
 * it sign along for a while. Empty where the present one was never made or can no longer be read:
 * what formers alone signed would soon be refused without anybody having been told.
 */
export function signingKeys(secretBox: SecretBox, key: SealedSecrets, now: number): Uint8Array[] {
  const current = openSecret(secretBox, key.webhookSecretSealed);
  if (!current) return [];
  const living = key.webhookFormers.filter(({ until }) => until > now);
  return [current, ...living.flatMap(({ sealed }) => openSecret(secretBox, sealed) ?? [])];
}

function openSecret(secretBox: SecretBox, sealed: string | null): Uint8Array | undefined {
  const text = sealed === null ? undefined : SECRET.exec(secretBox.open(sealed) ?? '')?.[1];
  return text === undefined ? undefined : Buffer.from(text, 'base64');
}

/**
 * The headers that prove a message (Standard Webhooks 1.0.0, scheme v1): HMAC-SHA256 over
 * `id.timestamp.body` with each key. `timestamp` is that of the attempt, in Unix seconds; receivers
 * refuse old ones.
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
