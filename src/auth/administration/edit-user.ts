import { isDeepStrictEqual } from 'node:util';
import type { Clock, JsonObject, Logger } from '../../kernel/index.ts';
import {
  type AdminUserRecord,
  type EnabledStatus,
  type RightsChange,
  ROLE,
  STATUS,
  type Store,
  type UserChange,
} from '../../store/ports/index.ts';
import {
  validateDisplayName,
  validateGroup,
  validateNewPassword,
  validateRemark,
  validateUsername,
} from '../accounts/validate-account.ts';
import {
  type BudgetFields,
  describeOwnerLimits,
  type OwnerLimitsView,
  validateBudget,
  validateOwnerLimits,
} from '../accounts/validate-budgets.ts';
import type { PasswordHashes } from '../credentials/password-hashes.ts';
import { authErrors } from '../errors.ts';
import { requireMailAddress, setEmail } from '../mail/mail-address.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { PanelPrincipal } from '../principals.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import { type AccountView, describeAccount, loadAccount } from './list-accounts.ts';
import { withLockedAccounts } from './with-locked-accounts.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  sessions: SessionRegistry;
  passwords: PasswordHashes;
  notifyOwner: NotifyOwner;
};

/** Fields that are left out stay as they are. */
export type AccountEdit = {
  username?: string | undefined;
  display_name?: string | undefined;
  password?: string | undefined;
  group?: string | undefined;
  /** `null`: none. */
  email?: string | null | undefined;
  remark?: string | undefined;
  /** `null`: no such limit. */
  budget?: BudgetFields | null | undefined;
} & Partial<OwnerLimitsView>;

/**
 * `before` and `after` hold only the fields that changed, and of a password only the fact that it
 * was set.
 */
export type AccountEdited = { user: AccountView; before: JsonObject; after: JsonObject };

/**
 * Changes the given fields of an account, all or none. Only a new password advances `auth_version`
 * and ends every session.
 *
 * @throws `auth.validation_failed`, `auth.name_taken`, `auth.identity_taken` for an address, and
 * what `withLockedAccounts` throws.
 */
export async function editUser(
  ctx: Deps,
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
  if (passwordHash !== undefined) await ctx.notifyOwner(former, { about: 'password_changed', by: 'administrator' });
  if ('email' in edited.after) {
    const about = edited.after.email === null ? 'address_removed' : 'address_changed';
    await ctx.notifyOwner(former, { about, by: 'administrator' });
  }
  return edited;
}

async function hashPassword(
  { store, passwords }: { store: Store; passwords: PasswordHashes },
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
  ...(edit.remark === undefined ? {} : { remark: validateRemark(edit.remark, former.remark) }),
  ...(edit.budget === undefined ? {} : { budget: validateBudget(edit.budget) }),
  ...validateOwnerLimits(edit),
  ...(edit.email === undefined ? {} : { email: edit.email === null ? null : requireMailAddress(edit.email) }),
});

function compare(before: AdminUserRecord, after: AdminUserRecord, hasNewPassword: boolean) {
  const [was, is] = [editable(before), editable(after)];
  const changed = Object.keys(is).filter((field) => !isDeepStrictEqual(was[field], is[field]));
  const pick = (from: JsonObject): JsonObject =>
    Object.fromEntries(changed.map((field) => [field, from[field] ?? null]));
  return { before: pick(was), after: { ...pick(is), ...(hasNewPassword ? { password: '***' } : {}) } };
}

const editable = ({ username, displayName, group, email, remark, budget, ...user }: AdminUserRecord): JsonObject => ({
  username,
  display_name: displayName,
  group,
  email,
  remark,
  budget,
  ...describeOwnerLimits(user),
});

export type StatusOrRoleAction = 'enable' | 'disable' | 'promote' | 'demote';

/**
 * `changed` is false when the account had the status or role already: nothing happened to it or to
 * its sessions. `before` and `after` are the field that was to be changed.
 */
export type StatusOrRoleChanged = { user: AccountView; changed: boolean; before: JsonObject; after: JsonObject };

const CHANGES: Record<
  StatusOrRoleAction,
  Required<Pick<RightsChange, 'status'>> | Required<Pick<RightsChange, 'role'>>
> = {
  enable: { status: STATUS.enabled },
  disable: { status: STATUS.disabled },
  promote: { role: ROLE.admin },
  demote: { role: ROLE.user },
};

/**
 * Enables, disables, promotes to administrator or demotes to user. A real change advances
 * `auth_version` and ends every session of the account. Throws what `withLockedAccounts` throws.
 */
export async function changeStatusOrRole(
  ctx: { store: Store; logger: Logger; sessions: SessionRegistry },
  principal: PanelPrincipal,
  { userId, action }: { userId: number; action: StatusOrRoleAction },
): Promise<StatusOrRoleChanged> {
  const change = CHANGES[action];
  const intent = { principal, userId, action, endsSessions: `admin_${action}` };
  const done = await withLockedAccounts(ctx, intent, async ({ tx, target, endSessions }) => {
    const before: JsonObject = 'role' in change ? { role: target.role } : { status: target.status };
    const changed = 'role' in change ? target.role !== change.role : target.status !== change.status;
    if (changed) {
      await tx.users.administer(userId, change, target.authVersion);
      await endSessions();
    }
    return { user: describeAccount(await loadAccount(tx, userId)), changed, before, after: change };
  });
  if (done.changed) ctx.logger.info({ userId, action, by: principal.user.id }, 'status or role of an account changed');
  return done;
}

/** Invalidates every artifact link of an account. Throws what `withLockedAccounts` throws. */
export async function revokeLinks(ctx: KeyDeps, principal: PanelPrincipal, userId: number): Promise<void> {
  const intent = { principal, userId, action: 'revoke_links' } as const;
  await withLockedAccounts(ctx, intent, ({ tx }) => tx.users.moveLinkVersion(userId));
}

/** What operations on the keys of others use. */
type KeyDeps = { store: Store; sessions: SessionRegistry };
type UserKey = { userId: number; keyId: number };

/*
 * What an operator does to API keys of others: a leaked key is stopped, and its owner stays signed
 * in. Both throw `auth.api_key_not_found` for a key of another account, and what
 * `withLockedAccounts` throws.
 */

/**
 * Disables a key, so that its next use is refused, or enables it again. `former` is the status that
 * it had.
 */
export async function changeUserKeyStatus(
  deps: KeyDeps,
  principal: PanelPrincipal,
  { userId, keyId, status }: UserKey & { status: EnabledStatus },
): Promise<{ name: string; prefix: string; former: EnabledStatus }> {
  const action = status === STATUS.enabled ? 'enable' : 'edit';
  return withLockedAccounts(deps, { principal, userId, action }, async ({ tx }) => {
    const former = await tx.apiKeys.byId(keyId);
    const key = await tx.apiKeys.update(keyId, userId, { status });
    if (!former || !key) throw authErrors.api_key_not_found();
    return { name: key.name, prefix: key.prefix, former: former.status };
  });
}

/** Deletes a key. Its running tasks finish and are billed. */
export async function deleteUserKey(
  deps: KeyDeps,
  principal: PanelPrincipal,
  { userId, keyId }: UserKey,
): Promise<{ name: string; prefix: string }> {
  return withLockedAccounts(deps, { principal, userId, action: 'edit' }, async ({ tx }) => {
    const key = await tx.apiKeys.byId(keyId);
    if (key?.userId !== userId || !(await tx.apiKeys.delete(keyId, userId))) throw authErrors.api_key_not_found();
    return { name: key.name, prefix: key.prefix };
  });
}
