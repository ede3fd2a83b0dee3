import { type Clock, hasHiddenCharacters, type SecretBox } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { type ApiKeyView, describeApiKey } from './describe-api-key.ts';
import { type ApiKeyFields, validateApiKeyFields } from './validate-api-key.ts';

/**
 * Changes the given fields of one of the caller's own keys; `auth.api_key_not_found` for any other.
 */
export function createUpdateApiKey(deps: { store: Store; clock: Clock; secretBox: SecretBox; config: AuthConfig }) {
  const { store, clock, secretBox, config } = deps;
  return async (principal: PanelPrincipal, id: number, fields: ApiKeyFields): Promise<ApiKeyView> => {
    const hides = fields.name !== undefined && hasHiddenCharacters(fields.name);
    const formerName = hides ? (await store.apiKeys.byId(id))?.name : undefined;
    const change = validateApiKeyFields(fields, principal.user, { ...config, formerName });
    if (change.webhookUrl) await requireSecret(id, principal);
    const updated = await store.apiKeys.update(id, principal.user.id, change);
    if (!updated) throw authErrors.api_key_not_found();
    return describeApiKey(updated, clock.unix(), secretBox);
  };

  /** Every submission would be refused: its notices could not be signed. */
  async function requireSecret(id: number, { user }: PanelPrincipal): Promise<void> {
    const key = await store.apiKeys.byId(id);
    if (key?.userId !== user.id) throw authErrors.api_key_not_found();
    if (key.webhookSecretSealed !== null) return;
    const message = `The key has no webhook secret yet. Make one with POST /api/token/${id}/webhook-secret, give it to the receiver, then set the address.`;
    throw authErrors.api_key_webhook_secret_missing({ message, param: 'webhook_url' });
  }
}

/**
 * Deletes one of the caller's own keys; its next use is refused. `auth.api_key_not_found` for any
 * other.
 */
export function createDeleteApiKey({ store }: { store: Store }) {
  return async (principal: PanelPrincipal, id: number): Promise<void> => {
    if (!(await store.apiKeys.delete(id, principal.user.id))) throw authErrors.api_key_not_found();
  };
}
