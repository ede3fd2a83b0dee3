import type { Clock, SecretBox } from '../../kernel/index.ts';
import type { Page, Paged, Store } from '../../store/ports/index.ts';
import type { PanelPrincipal } from '../types.ts';
import { type ApiKeyView, describeApiKey } from './describe-api-key.ts';

/** The caller's own keys. */
export function createListApiKeys({ store, clock, secretBox }: { store: Store; clock: Clock; secretBox: SecretBox }) {
  return async (principal: PanelPrincipal, page: Page): Promise<Paged<ApiKeyView>> => {
    const { total, items } = await store.apiKeys.list(principal.user.id, page);
    const now = clock.unix();
    return { total, items: items.map((key) => describeApiKey(key, now, secretBox)) };
  };
}
