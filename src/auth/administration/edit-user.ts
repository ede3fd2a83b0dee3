import type { JsonObject } from '../../kernel/index.ts';
import type { AdminUserRecord, UserChange } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { requireMailAddress } from '../mail/mail-address.ts';
import { notifyOwner } from '../mail/notify-owner.ts';
import type { PanelPrincipal } from '../types.ts';
import { setEmail } from '../users/set-email.ts';
import { validateNewPassword, validateUsername } from '../users/validate-account.ts';
import { validateDisplayName, validateGroup, validateRemark } from '../users/validate-details.ts';
import { type AccountView, describeAccount } from './describe-account.ts';
import { loadAccount } from './list-accounts.ts';
import { withLockedAccounts } from './with-locked-accounts.ts';

/** Fields that are left out stay as they are. */
export type AccountEdit = {
  username?: string | undefined;
  display_name?: string | undefined;
  password?: string | undefined;
  group?: string | undefined;
  /** `null`: none. */
  email?: string | null | undefined;
  remark?: string | undefined;
};

/** `before` and `after` hold only the fields that changed; of a password only that it was set. */
export type AccountEdited = { user: AccountView; before: JsonObject; after: JsonObject };

/**
 * Changes the given fields of an account, all or none. Only a new password advances `auth_version`
 * and ends every session.
 *
 * @throws `auth.validation_failed`, `auth.name_taken`, `auth.identity_taken` for an address, and
 * what `withLockedAccounts` throws.
 */
export async function editUser(
  ctx: AuthContext,
  principal: PanelPrincipal,
  { userId, edit }: { userId: number; edit: AccountEdit },
): Promise<AccountEdited> {
  const { email, ...change } = validate(edit, await loadAccount(ctx.store, userId));
  const passwordHash = await hashPassword(ctx, userId, edit);
  const endsSessions = passwordHash ? { endsSessions: 'admin_user_update' } : {};
  const intent = { principal, userId, action: 'edit', ...endsSessions } as const;

  const { former, ...edited } = await withLockedAccounts(ctx, intent, async ({ tx, target, endSessions }) => {
    const before = await loadAccount(tx, userId);
    if ((await tx.users.update(userId, change)) === 'name_taken') throw authErrors.name_taken({ param: 'username' });
    // Even for the same address: an old database may show an address that the account does not own.
    if (email !== undefined) await setEmail(tx, userId, { email, at: ctx.clock.unix() });
    if (passwordHash !== undefined) {
      await tx.users.administer(userId, { passwordHash }, target.authVersion);
      await endSessions();
    }
    const after = await loadAccount(tx, userId);
    return { user: describeAccount(after), ...compare(before, after, passwordHash !== undefined), former: before };
  });
  // Both notices go to the address that the account had.
  if (passwordHash !== undefined) await notifyOwner(ctx, former, { about: 'password_changed', by: 'administrator' });
  if ('email' in edited.after) {
    const about = edited.after.email === null ? 'address_removed' : 'address_changed';
    await notifyOwner(ctx, former, { about, by: 'administrator' });
  }
  return edited;
}

async function hashPassword(
  { store, passwords }: AuthContext,
  userId: number,
  { username, password }: AccountEdit,
): Promise<string | undefined> {
  if (password === undefined) return undefined;
  await validateNewPassword(password, username ?? (await loadAccount(store, userId)).username);
  return passwords.hash(password);
}

/** A stored name may stay even if it has hidden characters. */
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
