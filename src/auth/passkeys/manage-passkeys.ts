import { type Clock, type Logger, type SecretBox, sentence } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { hasSignInMethod, requireSignInMethod } from '../accounts/last-sign-in-method.ts';
import { rejectHiddenCharacters } from '../accounts/validate-account.ts';
import type { AuthSettings, SettingsIn } from '../config.ts';
import { relyingPartyId } from '../credentials/relying-party.ts';
import { authErrors, invalidField } from '../errors.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { type PanelPrincipal, requireSession } from '../principals.ts';
import { PROOF_SCOPE } from '../proofs/proof-methods.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';
import { changeSecurity } from '../sessions/change-security.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import { describePasskey, type PasskeyView } from './passkey-challenge.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  settingsIn: SettingsIn;
  secretBox: SecretBox;
  tokens: SessionTokens;
  sessions: SessionRegistry;
  proofs: SecurityProofs;
  notifyOwner: NotifyOwner;
};

/*
 * What owners do with their passkeys. It works while passkeys are switched off too, when nobody can
 * sign in with one.
 */

export type PasskeyRename = { passkey: PasskeyView; previousName: string };

/** `bundle` is the answer's body; `passkeys` are the deleted ones. */
export type PasskeyDeletion = { bundle: RotationBundle; passkeys: PasskeyView[] };

/** The oldest first. */
export async function listPasskeys(
  { store, settings }: { store: Store; settings: () => AuthSettings },
  { user }: PanelPrincipal,
): Promise<PasskeyView[]> {
  const rpId = relyingPartyId(settings());
  return (await store.passkeys.list(user.id)).map((passkey) => describePasskey(passkey, rpId));
}

/** @throws `auth.validation_failed` or `auth.passkey_not_found`. */
export async function renamePasskey(
  ctx: { store: Store; settings: () => AuthSettings },
  principal: PanelPrincipal,
  passkey: { id: number; name: string },
): Promise<PasskeyRename> {
  const { store, settings } = ctx;
  const { id } = passkey;
  const name = validatePasskeyName(passkey.name);
  const before = (await listPasskeys(ctx, principal)).find((listed) => listed.id === id);
  const renamed = before && (await store.passkeys.rename(id, principal.user.id, name));
  if (!renamed) throw authErrors.passkey_not_found();
  return { passkey: describePasskey(renamed, relyingPartyId(settings())), previousName: before.name };
}

/**
 * Deletes one passkey, or all if no `id` is given, through `changeSecurity`.
 *
 * @throws `auth.session_required`, an error of the proof of the scope `passkey.delete`,
 * `auth.passkey_not_found`, `auth.changed_meanwhile`, or `auth.last_way_in` when the account would
 * lose its last sign-in method.
 */
export async function deletePasskeys(
  ctx: Deps,
  principal: PanelPrincipal,
  { id, proof }: { id?: number; proof: string | undefined },
): Promise<PasskeyDeletion> {
  const { user } = requireSession(principal);
  await ctx.proofs.require(principal, proof, PROOF_SCOPE.passkeyDelete);
  const passkeys = (await listPasskeys(ctx, principal)).filter((passkey) => id === undefined || passkey.id === id);
  if (passkeys.length === 0) throw authErrors.passkey_not_found();
  const bundle = await changeSecurity(ctx, principal, {
    reason: 'passkey_deleted',
    async write(tx) {
      // First: it locks the user's row, so that every other change of the account waits.
      const advanced = await tx.users.moveAuthVersion(user.id, user.authVersion);
      const ways = { settings: await ctx.settingsIn(tx), secretBox: ctx.secretBox };
      const couldSignIn = await hasSignInMethod(tx, user, ways);
      await (id === undefined ? tx.passkeys.deleteAll(user.id) : tx.passkeys.delete(id, user.id));
      if (couldSignIn) await requireSignInMethod(tx, user, ways);
      return advanced;
    },
  });
  return { bundle, passkeys };
}

const NAME_MAX = 64;

/**
 * Gives the name without surrounding space.
 *
 * @throws `auth.validation_failed`
 */
export function validatePasskeyName(value: string): string {
  const name = value.trim();
  const length = [...name].length;
  if (length < 1 || length > NAME_MAX) throw invalidField('name', sentence('auth.characters_to', { max: NAME_MAX }));
  return rejectHiddenCharacters('name', name);
}

/** "Passkey 3" for the third, or the next free number. */
export function nextPasskeyName(others: readonly { name: string }[]): string {
  const taken = new Set(others.map(({ name }) => name));
  let number = taken.size + 1;
  while (taken.has(`Passkey ${number}`)) number += 1;
  return `Passkey ${number}`;
}
