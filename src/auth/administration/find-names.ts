import type { ApiKeyName, ApiKeySearch } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import type { PanelPrincipal } from '../types.ts';

/** Names that one search returns. */
const MAX_NAMES = 20;

/** Of accounts, for filters: nothing else of them. */
export async function findUserNames(
  { store }: AuthContext,
  { id, keyword = '' }: { id?: number; keyword?: string },
): Promise<{ id: number; name: string }[]> {
  if (id === undefined) {
    const { items } = await store.users.search({ keyword }, { page: 1, pageSize: MAX_NAMES });
    return items.map((user) => ({ id: user.id, name: user.username }));
  }
  const user = await store.users.adminById(id);
  return user ? [{ id: user.id, name: user.username }] : [];
}

/**
 * Of API keys. The caller says whose; whether they may ask is decided before. Without `userId` and
 * `all` they are the caller's own.
 */
export const findKeyNames = (
  { store }: AuthContext,
  { user }: PanelPrincipal,
  { all = false, ...find }: Omit<ApiKeySearch, 'firstOf'> & { all?: boolean },
): Promise<ApiKeyName[]> =>
  store.apiKeys.names({ ...(all ? {} : { userId: user.id }), ...find, firstOf: user.id }, MAX_NAMES);
