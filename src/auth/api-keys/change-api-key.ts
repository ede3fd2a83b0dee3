import type { Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { type ApiKeyView, describeApiKey } from './describe-api-key.ts';
import { type ApiKeyFields, validateApiKeyFields } from './validate-api-key.ts';

/** Changes the given fields of one of the caller's own keys; `auth.api_key_not_found` for any other. */
export function createUpdateApiKey({ store, clock }: { store: Store; clock: Clock }) {
  return async (principal: PanelPrincipal, id: number, fields: ApiKeyFields): Promise<ApiKeyView> => {
    const change = validateApiKeyFields(fields, principal.user);
    const updated = await store.apiKeys.update(id, principal.user.id, change);
    if (!updated) throw authErrors.api_key_not_found();
    return describeApiKey(updated, clock.unix());
  };
}

/** Deletes one of the caller's own keys; its next use is refused. `auth.api_key_not_found` for any other. */
export function createDeleteApiKey({ store }: { store: Store }) {
  return async (principal: PanelPrincipal, id: number): Promise<void> => {
    if (!(await store.apiKeys.delete(id, principal.user.id))) throw authErrors.api_key_not_found();
  };
}
