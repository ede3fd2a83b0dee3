import { changeSecurity } from '../change-security.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { PROOF_SCOPE } from '../proofs/types.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { hasSignInMethod } from '../users/has-sign-in-method.ts';
import { describePasskey, type PasskeyView } from './describe-passkey.ts';
import { validatePasskeyName } from './name-passkey.ts';
import { relyingPartyId } from './relying-party.ts';

/*
 * What owners do with their passkeys. It works while passkeys are switched off too, when nobody can
 * sign in with one.
 */

export type PasskeyRename = { passkey: PasskeyView; previousName: string };

/** `bundle` is the answer's body; `passkeys` are the deleted ones. */
export type PasskeyDeletion = { bundle: RotationBundle; passkeys: PasskeyView[] };

/** The oldest first. */
export async function listPasskeys({ store, settings }: AuthContext, { user }: PanelPrincipal): Promise<PasskeyView[]> {
  const rpId = relyingPartyId(settings());
  return (await store.passkeys.list(user.id)).map((passkey) => describePasskey(passkey, rpId));
}

/** @throws `auth.validation_failed` or `auth.passkey_not_found`. */
export async function renamePasskey(
  ctx: AuthContext,
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
  ctx: AuthContext,
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
      const settings = await ctx.settingsIn(tx);
      const couldSignIn = await hasSignInMethod(tx, user, settings);
      await (id === undefined ? tx.passkeys.deleteAll(user.id) : tx.passkeys.delete(id, user.id));
      if (couldSignIn && !(await hasSignInMethod(tx, user, settings))) throw authErrors.last_way_in();
      return advanced;
    },
  });
  return { bundle, passkeys };
}
