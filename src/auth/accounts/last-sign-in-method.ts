import type { SecretBox } from '../../kernel/index.ts';
import { type OAuthProviderRecord, type Repositories, ROLE, STATUS, type UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings, SettingsIn } from '../config.ts';
import { findRelyingParty } from '../credentials/relying-party.ts';
import { authErrors } from '../errors.ts';

/** `secretBox`: a provider whose secret it cannot open lets nobody in. */
type Ways = { settings: AuthSettings; secretBox: SecretBox };

/** How many root accounts are checked; usually there is one. */
const ROOTS = { page: 1, pageSize: 100 };

/**
 * Whether an enabled root account could sign in without a password under these settings.
 * `settings/settings-service.ts` asks before it stores options that would close the last way.
 */
export async function rootHasOtherSignInMethod(tx: Repositories, ways: Ways): Promise<boolean> {
  return someHasOtherMethod(tx, await lockRoots(tx), ways);
}

/** Whether an enabled root account could sign in under the stored settings, by any method. */
export async function canRootSignIn(
  tx: Repositories,
  { settingsIn, secretBox }: { settingsIn: SettingsIn; secretBox: SecretBox },
): Promise<boolean> {
  const roots = await lockRoots(tx);
  const settings = await settingsIn(tx);
  return settings.passwordSignIn || someHasOtherMethod(tx, roots, { settings, secretBox });
}

/**
 * Locks the enabled root accounts before anything else is read. Two concurrent changes, say an
 * option and a passkey, could otherwise lock root out together; so the second sees what the first
 * left.
 */
async function lockRoots(tx: Repositories): Promise<UserRecord[]> {
  const { items } = await tx.users.search({ role: ROLE.root, status: STATUS.enabled }, ROOTS);
  return tx.users.lock(items.map(({ id }) => id));
}

async function someHasOtherMethod(tx: Repositories, users: readonly UserRecord[], ways: Ways): Promise<boolean> {
  for (const { id } of users) {
    if (await hasOtherMethod(tx, id, ways)) return true;
  }
  return false;
}

/**
 * Whether a user can sign in by anything but an email address: a password, a passkey, an identity
 * of a provider. The caller must have locked the user.
 */
export const hasSignInMethod = async (
  tx: Repositories,
  user: Pick<UserRecord, 'id' | 'passwordHash'>,
  ways: Ways,
): Promise<boolean> =>
  (user.passwordHash !== null && ways.settings.passwordSignIn) || hasOtherMethod(tx, user.id, ways);

/**
 * Call it in the transaction that takes a method away, after that. An email address is not a
 * method.
 * @throws `auth.last_way_in` if it was the last
 */
export async function requireSignInMethod(
  tx: Repositories,
  user: Pick<UserRecord, 'id' | 'passwordHash'>,
  ways: Ways,
): Promise<void> {
  if (!(await hasSignInMethod(tx, user, ways))) throw authErrors.last_way_in();
}

async function hasOtherMethod(tx: Repositories, userId: number, { settings, secretBox }: Ways): Promise<boolean> {
  const party = findRelyingParty(settings);
  if (party.ok && (await tx.passkeys.list(userId)).some(({ rpId }) => rpId === party.value.id)) return true;
  const isUsable = ({ enabled, clientSecretSealed: sealed }: OAuthProviderRecord): boolean =>
    enabled && (sealed === '' || secretBox.open(sealed) !== undefined);
  const usable = new Set((await tx.providers.all()).filter(isUsable).map(({ slug }) => slug));
  for (const [provider, set] of Object.entries(settings.providers)) if (set !== undefined) usable.add(provider);
  return (await tx.identities.list(userId)).some(({ provider }) => usable.has(provider));
}
