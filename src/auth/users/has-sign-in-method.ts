import { type Repositories, ROLE, type UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings, SettingsIn } from '../config.ts';
import { findRelyingParty } from '../passkeys/relying-party.ts';

/** Root accounts looked at; one is usual. */
const ROOTS = { page: 1, pageSize: 100 };
const ENABLED = 1;

/** Whether some enabled root account could sign in without a password under these settings. */
export async function rootHasOtherSignInMethod(tx: Repositories, settings: AuthSettings): Promise<boolean> {
  return someHasOtherWayIn(tx, await holdRoots(tx), settings);
}

/** Whether some enabled root account could sign in under the settings as they are, whatever way. */
export async function canRootSignIn(tx: Repositories, settingsIn: SettingsIn): Promise<boolean> {
  const roots = await holdRoots(tx);
  const settings = await settingsIn(tx);
  return settings.passwordLogin || someHasOtherWayIn(tx, roots, settings);
}

/**
 * The enabled root accounts, held before anything else is looked at: of two changes that together
 * would shut root out, an option here and a provider or a passkey there, the second sees what the
 * first has left.
 */
async function holdRoots(tx: Repositories): Promise<UserRecord[]> {
  const { items } = await tx.users.search({ role: ROLE.root, status: ENABLED }, ROOTS);
  return tx.users.hold(items.map(({ id }) => id));
}

async function someHasOtherWayIn(
  tx: Repositories,
  users: readonly UserRecord[],
  settings: AuthSettings,
): Promise<boolean> {
  for (const { id } of users) {
    if (await hasOtherWayIn(tx, id, settings)) return true;
  }
  return false;
}

/**
 * Whether a user, whom the caller holds, can sign in with what the account has besides a mail
 * address: a password, a passkey, an identity of a provider.
 */
export const hasSignInMethod = async (
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
