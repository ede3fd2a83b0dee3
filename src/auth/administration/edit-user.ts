import type { Clock, JsonObject } from '../../kernel/index.ts';
import type { AdminUserRecord, Store, UserChange } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { requireMailAddress } from '../mail/mail-address.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { PasswordHashes } from '../passwords/password-hashes.ts';
import type { PanelPrincipal } from '../types.ts';
import { setEmail } from '../users/own-email.ts';
import { validateNewPassword, validateUsername } from '../users/validate-account.ts';
import { validateDisplayName, validateGroup, validateRemark } from '../users/validate-details.ts';
import { type AccountView, describeAccount } from './describe-account.ts';
import { loadAccount } from './list-accounts.ts';
import type { WithLockedAccounts } from './with-locked-accounts.ts';

/** What is left out stays as it is. */
export type AccountEdit = {
  username?: string | undefined;
  display_name?: string | undefined;
  password?: string | undefined;
  group?: string | undefined;
  /** `null`: none. */
  email?: string | null | undefined;
  remark?: string | undefined;
};

/**
 * `before` and `after` name the fields that are another now; of a password only that it was set.
 */
export type AccountEdited = { user: AccountView; before: JsonObject; after: JsonObject };

/**
 * Changes the given fields of an account, all or none. A new password moves `auth_version` and ends
 * every session; nothing else does. Rejects with `auth.validation_failed`, `auth.name_taken`,
 * `auth.identity_taken` for an address, and as `WithLockedAccounts` does.
 */
export function createEditUser(deps: {
  store: Store;
  administer: WithLockedAccounts;
  clock: Clock;
  passwords: PasswordHashes;
  notifyOwner: NotifyOwner;
}) {
  const { store, administer, clock, passwords, notifyOwner } = deps;

  return async (principal: PanelPrincipal, userId: number, edit: AccountEdit): Promise<AccountEdited> => {
    const { email, ...change } = validate(edit, await loadAccount(store, userId));
    const passwordHash = await hashPassword(userId, edit);
    const intent = { userId, action: 'edit', ...(passwordHash ? { endsSessions: 'admin_user_update' } : {}) } as const;

    const { former, ...edited } = await administer(principal, intent, async (tx, target, endSessions) => {
      const before = await loadAccount(tx, userId);
      if ((await tx.users.update(userId, change)) === 'name_taken') throw authErrors.name_taken({ param: 'username' });
      // The same one too: an address of an old database may be shown without being owned.
      if (email !== undefined) await setEmail(tx, userId, { email, at: clock.unix() });
      if (passwordHash !== undefined) {
        await tx.users.administer(userId, { passwordHash }, target.authVersion);
        await endSessions();
      }
      const after = await loadAccount(tx, userId);
      const edited = compare(before, after, passwordHash !== undefined);
      return { user: describeAccount(after), ...edited, former: before };
    });
    // Both to the address that the account had.
    if (passwordHash !== undefined) await notifyOwner(former, { about: 'password_changed', by: 'administrator' });
    if ('email' in edited.after) {
      const about = edited.after.email === null ? 'address_removed' : 'address_changed';
      await notifyOwner(former, { about, by: 'administrator' });
    }
    return edited;
  };

  async function hashPassword(userId: number, { username, password }: AccountEdit): Promise<string | undefined> {
    if (password === undefined) return undefined;
    await validateNewPassword(password, username ?? (await loadAccount(store, userId)).username);
    return passwords.hash(password);
  }
}

/** A stored name may stay, whatever characters it has. */
const validate = (edit: AccountEdit, former: AdminUserRecord): UserChange => ({
  ...(edit.username === undefined ? {} : { username: validateUsername(edit.username) }),
  ...(edit.display_name === undefined
    ? {}
    : { displayName: validateDisplayName(edit.display_name, former.displayName) }),
  ...(edit.group === undefined ? {} : { group: validateGroup(edit.group, former.group) }),
  ...(edit.remark === undefined ? {} : { remark: validateRemark(edit.remark) }),
  ...(edit.email === undefined ? {} : { email: edit.email === null ? null : requireMailAddress(edit.email) }),
});

function compare(before: AdminUserRecord, after: AdminUserRecord, hasNewPassword: boolean) {
  const [was, is] = [editable(before), editable(after)];
  const changed = Object.keys(is).filter((field) => was[field] !== is[field]);
  const pick = (from: JsonObject): JsonObject =>
    Object.fromEntries(changed.map((field) => [field, from[field] ?? null]));
  return { before: pick(was), after: { ...pick(is), ...(hasNewPassword ? { password: '***' } : {}) } };
}

const editable = ({ username, displayName, group, email, remark }: AdminUserRecord): JsonObject => ({
  username,
  display_name: displayName,
  group,
  email,
  remark,
});
