import { type Clock, hasHiddenCharacters, type SecretBox, sentence } from '../../kernel/index.ts';
import { STATUS, type Store } from '../../store/ports/index.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import { authErrors, invalidField } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';
import { type ApiKeyView, describeApiKey } from './describe-api-key.ts';
import { newApiKey } from './rotate-api-key.ts';
import { newWebhookSecret } from './rotate-webhook-secret.ts';
import { type ApiKeyFields, validateApiKeyFields } from './validate-api-key.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  secretBox: SecretBox;
  config: AuthConfig;
  settings: () => AuthSettings;
};

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
  deps: Deps,
  principal: PanelPrincipal,
  fields: Omit<ApiKeyFields, 'status'>,
): Promise<CreatedApiKey> {
  const { store, clock, secretBox, config } = deps;
  const { name, ...rest } = validateApiKeyFields(fields, principal.user, config);
  if (name === undefined) throw invalidField('name', sentence('auth.name_required'));
  const key = newApiKey();
  const webhookSecret = rest.webhookUrl ? newWebhookSecret() : null;
  const now = clock.unix();
  const stored = await store.apiKeys.insert({
    userId: principal.user.id,
    walletId: principal.user.walletId,
    name,
    keyHash: key.hash,
    prefix: key.prefix,
    status: STATUS.enabled,
    unlimitedQuota: rest.unlimitedQuota ?? false,
    quota: rest.quota ?? 0,
    budget: rest.budget ?? null,
    requestsPerMinute: rest.requestsPerMinute ?? null,
    maxRunning: rest.maxRunning ?? null,
    models: rest.models ?? [],
    allowIps: rest.allowIps ?? [],
    expiresAt: rest.expiresAt ?? 0,
    group: rest.group ?? null,
    webhookUrl: rest.webhookUrl ?? null,
    keepResults: rest.keepResults ?? false,
    storeRequests: rest.storeRequests ?? true,
    webhookSecretSealed: webhookSecret === null ? null : secretBox.seal(webhookSecret),
    createdAt: now,
  });
  return { ...(await describeApiKey(deps, stored)), key: key.text, new_webhook_secret: webhookSecret };
}

/**
 * Changes the given fields of one of the caller's own keys.
 *
 * @throws `auth.api_key_not_found` for any other key; what `validateApiKeyFields` throws;
 * `auth.api_key_webhook_secret_missing`.
 */
export async function updateApiKey(
  ctx: Deps,
  principal: PanelPrincipal,
  { id, fields }: { id: number; fields: ApiKeyFields },
): Promise<ApiKeyView> {
  const { store, config } = ctx;
  const hides = fields.name !== undefined && hasHiddenCharacters(fields.name);
  const formerName = hides ? (await store.apiKeys.byId(id))?.name : undefined;
  const change = validateApiKeyFields(fields, principal.user, { ...config, formerName });
  if (change.webhookUrl) await requireWebhookSecret(ctx, principal, id);
  const updated = await store.apiKeys.update(id, principal.user.id, change);
  if (!updated) throw authErrors.api_key_not_found();
  return describeApiKey(ctx, updated);
}

/** Without a secret every submission would be refused: its notices could not be signed. */
async function requireWebhookSecret({ store }: { store: Store }, { user }: PanelPrincipal, id: number): Promise<void> {
  const key = await store.apiKeys.byId(id);
  if (key?.userId !== user.id) throw authErrors.api_key_not_found();
  if (key.webhookSecretSealed !== null) return;
  const message = sentence('auth.webhook_secret_first', { id });
  throw authErrors.api_key_webhook_secret_missing({ message, param: 'webhook_url' });
}

/**
 * Deletes one of the caller's own keys; its next use is refused.
 *
 * @throws `auth.api_key_not_found` for any other key.
 */
export async function deleteApiKey({ store }: { store: Store }, principal: PanelPrincipal, id: number): Promise<void> {
  if (!(await store.apiKeys.delete(id, principal.user.id))) throw authErrors.api_key_not_found();
}
