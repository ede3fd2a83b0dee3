import type { SecretBox } from '../../kernel/index.ts';
import type { ApiKeyRecord } from '../../store/ports/index.ts';

/** 1 enabled, 2 disabled are stored; 3 expired and 4 exhausted follow from the other fields. */
export type ApiKeyState = 1 | 2 | 3 | 4;

/** An API key as its owner sees it. The key itself is shown once, when it is made. */
export type ApiKeyView = {
  id: number;
  name: string;
  prefix: string;
  status: ApiKeyState;
  unlimited_quota: boolean;
  quota: number;
  used_quota: number;
  models: string[];
  allow_ips: string[];
  /** Unix seconds; 0: never. */
  expires_at: number;
  group: string | null;
  webhook_url: string | null;
  /**
   * Whether notices can be signed. `unreadable`: CRYPTO_SECRET was changed; a new secret has to be
   * made.
   */
  webhook_secret: 'none' | 'ready' | 'unreadable';
  /** Until then (Unix seconds) the secret before the present one signs along; 0: there was none. */
  webhook_former_until: number;
  created_at: number;
  last_used_at: number;
};

export function apiKeyState(key: ApiKeyRecord, now: number): ApiKeyState {
  if (key.status === 2) return 2;
  if (key.expiresAt !== 0 && key.expiresAt <= now) return 3;
  if (!key.unlimitedQuota && key.quota <= 0) return 4;
  return 1;
}

function webhookSecretState({ webhookSecretSealed: sealed }: ApiKeyRecord, secretBox: SecretBox) {
  if (sealed === null) return 'none';
  return secretBox.open(sealed) === undefined ? 'unreadable' : 'ready';
}

export function describeApiKey(key: ApiKeyRecord, now: number, secretBox: SecretBox): ApiKeyView {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    status: apiKeyState(key, now),
    unlimited_quota: key.unlimitedQuota,
    quota: key.quota,
    used_quota: key.usedQuota,
    models: key.models,
    allow_ips: key.allowIps,
    expires_at: key.expiresAt,
    group: key.group,
    webhook_url: key.webhookUrl,
    webhook_secret: webhookSecretState(key, secretBox),
    webhook_former_until: key.webhookFormers[0]?.until ?? 0,
    created_at: key.createdAt,
    last_used_at: key.lastUsedAt,
  };
}
