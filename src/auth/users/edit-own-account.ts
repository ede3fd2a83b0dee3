import type { Clock, JsonObject, Logger } from '../../kernel/index.ts';
import { ROLE, type Store, type UserChange } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';
import { requireSession } from '../require-session.ts';
import type { SessionGate } from '../sessions/session-gate.ts';
import type { PanelPrincipal } from '../types.ts';
import type { PanelUser } from './describe-user.ts';
import { eraseAccount } from './erase-account.ts';
import { loadPanelUser } from './load-factors.ts';
import { createRevokeOwnLinks } from './revoke-links.ts';
import { validateUsername } from './validate-account.ts';
import { validateDisplayName, validateLanguage } from './validate-details.ts';

export type ProfileEdit = {
  /** What one signs in with, so it takes a session. */
  username?: string | undefined;
  display_name?: string | undefined;
  language?: string | undefined;
};
/** `before` and `after` name the fields that are another now. */
export type ProfileEdited = { user: PanelUser; before: JsonObject; after: JsonObject };

/** What people do with their own account besides their password and factors. */
export interface OwnAccount {
  /**
   * Rejects with `auth.validation_failed`, `auth.name_taken`, or `auth.session_required` for a new
   * user name.
   */
  edit(principal: PanelPrincipal, edit: ProfileEdit): Promise<ProfileEdited>;
  /**
   * Deletes the account as `eraseAccount` says and ends its sessions. Rejects with
   * `auth.session_required`, `auth.root_protected`, what is wrong with the proof of the scope
   * `account.delete`, or `auth.changed_meanwhile`.
   */
  delete(principal: PanelPrincipal, proof: string | undefined): Promise<void>;
  /**
   * Ends every artifact link of one's own that was given out until now. Rejects with
   * `auth.session_required`.
   */
  revokeLinks(principal: PanelPrincipal): Promise<void>;
}

export function createOwnAccount(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  proofs: SecurityProofs;
  sessions: SessionGate;
}): OwnAccount {
  const { store, clock, logger, proofs, sessions } = deps;

  return {
    revokeLinks: createRevokeOwnLinks(deps),

    async edit(principal, edit) {
      if (edit.username !== undefined) requireSession(principal);
      const { id } = principal.user;
      const change: UserChange = {
        ...(edit.username === undefined ? {} : { username: validateUsername(edit.username) }),
        ...(edit.display_name === undefined
          ? {}
          : { displayName: validateDisplayName(edit.display_name, principal.user.displayName) }),
        ...(edit.language === undefined ? {} : { language: validateLanguage(edit.language) }),
      };
      const after = await store.users.update(id, change);
      if (after === 'name_taken') throw authErrors.name_taken({ param: 'username' });
      // He was deleted a moment ago.
      if (!after) throw authErrors.session_revoked();
      const fields = [
        ['username', principal.user.username, after.username],
        ['display_name', principal.user.displayName, after.displayName],
        ['language', principal.user.language, after.language],
      ] as const;
      const changed = fields.filter(([field, was, is]) => edit[field] !== undefined && was !== is);
      return {
        user: await loadPanelUser(store, after),
        before: Object.fromEntries(changed.map(([field, was]) => [field, was])),
        after: Object.fromEntries(changed.map(([field, , is]) => [field, is])),
      };
    },

    async delete(principal, proof) {
      const { user } = requireSession(principal);
      if (user.role === ROLE.root) throw authErrors.root_protected();
      await proofs.require(principal, proof, 'account.delete');
      await sessions.endAll({ userId: user.id, exceptSid: null, reason: 'user_deleted' }, (end) =>
        store.transaction(async (tx) => {
          if (!(await eraseAccount(tx, user, clock.unix()))) throw authErrors.changed_meanwhile();
          await end(tx);
        }),
      );
      logger.info({ userId: user.id, by: user.id }, 'account deleted');
    },
  };
}
