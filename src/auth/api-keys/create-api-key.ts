import { sentence } from '../../kernel/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { invalidField } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { type ApiKeyView, describeApiKey } from './describe-api-key.ts';
import { newApiKey } from './new-api-key.ts';
import { newWebhookSecret } from './rotate-webhook-secret.ts';
import { type ApiKeyFields, validateApiKeyFields } from './validate-api-key.ts';

/**
 * In clear text, shown only in this answer: the key, and with a `webhook_url` the secret that signs
 * its notices (null without one).
 */
export type CreatedApiKey = ApiKeyView & { key: string; new_webhook_secret: string | null };

/**
 * Creates an API key for the caller. It needs a budget (`quota`) or `unlimited_quota`; otherwise it
 * cannot pay for anything.
 */
export async function createApiKey(
  { store, clock, secretBox, config }: AuthContext,
  principal: PanelPrincipal,
  fields: Omit<ApiKeyFields, 'status'>,
): Promise<CreatedApiKey> {
  const { name, ...rest } = validateApiKeyFields(fields, principal.user, config);
  if (name === undefined) throw invalidField('name', sentence('auth.name_required'));
  const key = newApiKey();
  const webhookSecret = rest.webhookUrl ? newWebhookSecret() : null;
  const now = clock.unix();
  const stored = await store.apiKeys.insert({
    userId: principal.user.id,
    name,
    keyHash: key.hash,
    prefix: key.prefix,
    status: STATUS.enabled,
    unlimitedQuota: rest.unlimitedQuota ?? false,
    quota: rest.quota ?? 0,
    models: rest.models ?? [],
    allowIps: rest.allowIps ?? [],
    expiresAt: rest.expiresAt ?? 0,
    group: rest.group ?? null,
    webhookUrl: rest.webhookUrl ?? null,
    keepResults: rest.keepResults ?? false,
    webhookSecretSealed: webhookSecret === null ? null : secretBox.seal(webhookSecret),
    createdAt: now,
  });
  return { ...describeApiKey(stored, now, secretBox), key: key.text, new_webhook_secret: webhookSecret };
}
