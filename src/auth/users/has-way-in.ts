import { type Repositories, ROLE, type UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { findRelyingParty } from '../passkeys/relying-party.ts';

/** Root accounts looked at; one is usual. */
const ROOTS = { page: 1, pageSize: 100 };
const ENABLED = 1;

/** Whether some enabled root account could sign in without a password under these settings. */
export async function rootHasOtherWayIn(tx: Repositories, settings: AuthSettings): Promise<boolean> {
  const { items } = await tx.users.search({ role: ROLE.root, status: ENABLED }, ROOTS);
  for (const { id } of items) {
    if (await hasOtherWayIn(tx, id, settings)) return true;
  }
  return false;
}

/** Whether some enabled root account could sign in under these settings, whatever way. */
export const canRootEnter = async (tx: Repositories, settings: AuthSettings): Promise<boolean> =>
  settings.passwordLogin || rootHasOtherWayIn(tx, settings);

/** Whether a user can sign in with what the account has besides a mail address: a password, a passkey, an identity of a provider. */
export const hasWayIn = async (
  tx: Repositories,
  user: Pick<UserRecord, 'id' | 'passwordHash'>,
  settings: AuthSettings,
): Promise<boolean> => (user.passwordHash !== null && settings.passwordLogin) || hasOtherWayIn(tx, user.id, settings);

async function hasOtherWayIn(tx: Repositories, userId: number, settings: AuthSettings): Promise<boolean> {
  const party = findRelyingParty(settings);
  if (party.ok && (await tx.passkeys.list(userId)).some(({ rpId }) => rpId === party.value.id)) return true;
  const usable = new Set((await tx.providers.all()).filter(({ enabled }) => enabled).map(({ slug }) => slug));
  for (const [provider, set] of Object.entries(settings.providers)) if (set !== undefined) usable.add(provider);
  return (await tx.identities.list(userId)).some(({ provider }) => usable.has(provider));
}
