import { hasHiddenCharacters, sentence } from '../../kernel/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { type ApiKeyView, describeApiKey } from './describe-api-key.ts';
import { type ApiKeyFields, validateApiKeyFields } from './validate-api-key.ts';

/**
 * Changes the given fields of one of the caller's own keys.
 *
 * @throws `auth.api_key_not_found` for any other key; what `validateApiKeyFields` throws;
 * `auth.api_key_webhook_secret_missing`.
 */
export async function updateApiKey(
  ctx: AuthContext,
  principal: PanelPrincipal,
  { id, fields }: { id: number; fields: ApiKeyFields },
): Promise<ApiKeyView> {
  const { store, clock, secretBox, config } = ctx;
  const hides = fields.name !== undefined && hasHiddenCharacters(fields.name);
  const formerName = hides ? (await store.apiKeys.byId(id))?.name : undefined;
  const change = validateApiKeyFields(fields, principal.user, { ...config, formerName });
  if (change.webhookUrl) await requireWebhookSecret(ctx, principal, id);
  const updated = await store.apiKeys.update(id, principal.user.id, change);
  if (!updated) throw authErrors.api_key_not_found();
  return describeApiKey(updated, clock.unix(), secretBox);
}

/** Without a secret every submission would be refused: its notices could not be signed. */
async function requireWebhookSecret({ store }: AuthContext, { user }: PanelPrincipal, id: number): Promise<void> {
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
export async function deleteApiKey({ store }: AuthContext, principal: PanelPrincipal, id: number): Promise<void> {
  if (!(await store.apiKeys.delete(id, principal.user.id))) throw authErrors.api_key_not_found();
}
