import type { Page, Paged } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { type ApiKeyView, describeApiKey } from './describe-api-key.ts';

/**
 * One of the caller's own keys.
 *
 * @throws `auth.api_key_not_found` for any other key.
 */
export async function readApiKey(
  { store, clock, secretBox }: AuthContext,
  { user }: PanelPrincipal,
  id: number,
): Promise<ApiKeyView> {
  const key = await store.apiKeys.byId(id);
  if (key?.userId !== user.id) throw authErrors.api_key_not_found();
  return describeApiKey(key, clock.unix(), secretBox);
}

/** The keys of a user. */
export async function listApiKeys(
  { store, clock, secretBox }: AuthContext,
  userId: number,
  page: Page,
): Promise<Paged<ApiKeyView>> {
  const { total, items } = await store.apiKeys.list(userId, page);
  const now = clock.unix();
  return { total, items: items.map((key) => describeApiKey(key, now, secretBox)) };
}
