import type { Store } from '../../store/ports/index.ts';
import type { ChangeSecurity } from '../change-security.ts';
import type { AuthSettings, SettingsIn } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { hasSignInMethod } from '../users/has-sign-in-method.ts';
import { describePasskey, type PasskeyView } from './describe-passkey.ts';
import { validatePasskeyName } from './name-passkey.ts';
import { relyingPartyId } from './relying-party.ts';

export type PasskeyRename = { passkey: PasskeyView; previousName: string };

/** `bundle` is the answer's body; `passkeys` are those that are gone. */
export type PasskeyDeletion = { bundle: RotationBundle; passkeys: PasskeyView[] };

/**
 * What an owner may do with his passkeys, also while nobody can sign in with one because passkeys
 * are switched off.
 */
export interface ManagePasskeys {
  /** The oldest first. */
  list(principal: PanelPrincipal): Promise<PasskeyView[]>;
  /** Rejects with `auth.validation_failed` or `auth.passkey_not_found`. */
  rename(principal: PanelPrincipal, id: number, name: string): Promise<PasskeyRename>;
  /**
   * Deletes one passkey, or all when no `id` is given, as a change of security. Rejects with
   * `auth.session_required`, what is wrong with the proof of the scope `passkey.delete`,
   * `auth.passkey_not_found`, `auth.changed_meanwhile`, or `auth.last_way_in` when the account
   * could not be signed in to any more.
   */
  delete(principal: PanelPrincipal, deletion: { id?: number; proof: string | undefined }): Promise<PasskeyDeletion>;
}

export function createManagePasskeys(deps: {
  store: Store;
  settings: () => AuthSettings;
  settingsIn: SettingsIn;
  proofs: SecurityProofs;
  changeSecurity: ChangeSecurity;
}): ManagePasskeys {
  const { store, settings, settingsIn, proofs, changeSecurity } = deps;
  const list = async ({ user }: PanelPrincipal) => {
    const rpId = relyingPartyId(settings());
    return (await store.passkeys.list(user.id)).map((passkey) => describePasskey(passkey, rpId));
  };

  return {
    list,

    async rename(principal, id, value) {
      const name = validatePasskeyName(value);
      const before = (await list(principal)).find((passkey) => passkey.id === id);
      const renamed = before && (await store.passkeys.rename(id, principal.user.id, name));
      if (!renamed) throw authErrors.passkey_not_found();
      return { passkey: describePasskey(renamed, relyingPartyId(settings())), previousName: before.name };
    },

    async delete(principal, { id, proof }) {
      const { user } = requireSession(principal);
      await proofs.require(principal, proof, 'passkey.delete');
      const passkeys = (await list(principal)).filter((passkey) => id === undefined || passkey.id === id);
      if (passkeys.length === 0) throw authErrors.passkey_not_found();
      const bundle = await changeSecurity(principal, {
        reason: 'passkey_deleted',
        async write(tx) {
          // First, since it holds off every other change of the account until this one is through.
          const moved = await tx.users.moveAuthVersion(user.id, user.authVersion);
          const now = await settingsIn(tx);
          const couldEnter = await hasSignInMethod(tx, user, now);
          await (id === undefined ? tx.passkeys.deleteAll(user.id) : tx.passkeys.delete(id, user.id));
          if (couldEnter && !(await hasSignInMethod(tx, user, now))) throw authErrors.last_way_in();
          return moved;
        },
      });
      return { bundle, passkeys };
    },
  };
}
