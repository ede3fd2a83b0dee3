import type { Clock, JsonObject, Logger } from '../../kernel/index.ts';
import { ROLE, type Store, type UserChange } from '../../store/ports/index.ts';
import { loadPanelUser, type PanelUser } from '../accounts/describe-user.ts';
import { eraseAccount } from '../accounts/erase-account.ts';
import { validateDisplayName, validateLanguage, validateUsername } from '../accounts/validate-account.ts';
import { authErrors } from '../errors.ts';
import { type PanelPrincipal, requireSession } from '../principals.ts';
import { PROOF_SCOPE } from '../proofs/proof-methods.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  sessions: SessionRegistry;
  proofs: SecurityProofs;
};

export type ProfileEdit = {
  /** Requires a session, since people sign in with it. */
  username?: string | undefined;
  display_name?: string | undefined;
  language?: string | undefined;
};
/** `before` and `after` hold only the fields that changed. */
export type ProfileEdited = { user: PanelUser; before: JsonObject; after: JsonObject };

/**
 * Edits the caller's own profile.
 *
 * @throws `auth.validation_failed`, `auth.name_taken`, or `auth.session_required` for a new
 * username.
 */
export async function editOwnAccount(
  { store }: { store: Store },
  principal: PanelPrincipal,
  edit: ProfileEdit,
): Promise<ProfileEdited> {
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
  // The account was deleted a moment ago.
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
}

/**
 * Deletes the caller's own account with `eraseAccount` and ends its sessions.
 *
 * @throws `auth.session_required`, `auth.root_protected`, an error of the proof of the scope
 * `account.delete`, or `auth.changed_meanwhile`.
 */
export async function deleteOwnAccount(
  { store, clock, logger, proofs, sessions }: Deps,
  principal: PanelPrincipal,
  proof: string | undefined,
): Promise<void> {
  const { user } = requireSession(principal);
  if (user.role === ROLE.root) throw authErrors.root_protected();
  await proofs.require(principal, proof, PROOF_SCOPE.accountDelete);
  await sessions.endAll({ userId: user.id, exceptSid: null, reason: 'user_deleted' }, (end) =>
    store.transaction(async (tx) => {
      if (!(await eraseAccount(tx, user, clock.unix()))) throw authErrors.changed_meanwhile();
      await end(tx);
    }),
  );
  logger.info({ userId: user.id, by: user.id }, 'account deleted');
}

/**
 * Whether the caller may have an export of their own account.
 *
 * @throws `auth.session_required`, or an error of the proof of the scope `account.export`.
 */
export async function confirmExport(
  { logger, proofs }: { logger: Logger; proofs: SecurityProofs },
  principal: PanelPrincipal,
  proof: string | undefined,
): Promise<void> {
  const { user } = requireSession(principal);
  await proofs.require(principal, proof, PROOF_SCOPE.accountExport);
  logger.info({ userId: user.id }, 'account exported');
}

/**
 * Invalidates every artifact link of the caller's own account that was handed out until now.
 *
 * @throws `auth.session_required`
 */
export async function revokeOwnLinks({ store }: { store: Store }, principal: PanelPrincipal): Promise<void> {
  const { user } = requireSession(principal);
  if (!(await store.users.moveLinkVersion(user.id))) throw authErrors.user_not_found();
}
