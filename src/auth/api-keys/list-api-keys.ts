import type { Clock, SecretBox } from '../../kernel/index.ts';
import type { Page, Paged, Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { type ApiKeyView, describeApiKey } from './describe-api-key.ts';

/** One of the caller's own keys; `auth.api_key_not_found` for any other. */
export function createReadApiKey({ store, clock, secretBox }: { store: Store; clock: Clock; secretBox: SecretBox }) {
  return async ({ user }: PanelPrincipal, id: number): Promise<ApiKeyView> => {
    const key = await store.apiKeys.byId(id);
    if (key?.userId !== user.id) throw authErrors.api_key_not_found();
    return describeApiKey(key, clock.unix(), secretBox);
  };
}

/** The caller's own keys. */
export function createListApiKeys({ store, clock, secretBox }: { store: Store; clock: Clock; secretBox: SecretBox }) {
  return async (principal: PanelPrincipal, page: Page): Promise<Paged<ApiKeyView>> => {
    const { total, items } = await store.apiKeys.list(principal.user.id, page);
    const now = clock.unix();
    return { total, items: items.map((key) => describeApiKey(key, now, secretBox)) };
  };
}
