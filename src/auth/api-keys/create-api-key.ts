import { type Clock, randomAlnum, type SecretBox, sha256Hex } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { invalidField } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { type ApiKeyView, describeApiKey } from './describe-api-key.ts';
import { newWebhookSecret } from './rotate-webhook-secret.ts';
import { type ApiKeyFields, validateApiKeyFields } from './validate-api-key.ts';

/**
 * In clear text, in this answer and never again: the key, and with a `webhook_url` the secret that
 * signs its notices (null without).
 */
export type CreatedApiKey = ApiKeyView & { key: string; new_webhook_secret: string | null };

/** `sk-` and 48 letters and digits, 285 random bits. */
const KEY_LENGTH = 48;
/** `sk-` and eight characters stay readable; 238 bits stay secret. */
const PREFIX_LENGTH = 11;

/**
 * Makes an API key of the caller's own. Without a budget (`quota`) it must be said to be unlimited,
 * or it can pay nothing.
 */
export function createCreateApiKey(deps: { store: Store; clock: Clock; secretBox: SecretBox; config: AuthConfig }) {
  const { store, clock, secretBox, config } = deps;
  return async (principal: PanelPrincipal, fields: Omit<ApiKeyFields, 'status'>): Promise<CreatedApiKey> => {
    const { name, ...rest } = validateApiKeyFields(fields, principal.user, config);
    if (name === undefined) throw invalidField('name', 'a name is required.');
    const key = `sk-${randomAlnum(KEY_LENGTH)}`;
    const webhookSecret = rest.webhookUrl ? newWebhookSecret() : null;
    const now = clock.unix();
    const stored = await store.apiKeys.insert({
      userId: principal.user.id,
      name,
      keyHash: sha256Hex(key),
      prefix: key.slice(0, PREFIX_LENGTH),
      status: 1,
      unlimitedQuota: rest.unlimitedQuota ?? false,
      quota: rest.quota ?? 0,
      models: rest.models ?? [],
      allowIps: rest.allowIps ?? [],
      expiresAt: rest.expiresAt ?? 0,
      group: rest.group ?? null,
      webhookUrl: rest.webhookUrl ?? null,
      webhookSecretSealed: webhookSecret === null ? null : secretBox.seal(webhookSecret),
      createdAt: now,
    });
    return { ...describeApiKey(stored, now, secretBox), key, new_webhook_secret: webhookSecret };
  };
}
