import { type Clock, type Logger, sentence } from '../../kernel/index.ts';
import { ROLE, type Role, STATUS, type Store } from '../../store/ports/index.ts';
import {
  validateDisplayName,
  validateGroup,
  validateNewPassword,
  validateRemark,
  validateUsername,
} from '../accounts/validate-account.ts';
import type { AuthSettings } from '../config.ts';
import type { PasswordHashes } from '../credentials/password-hashes.ts';
import { authErrors } from '../errors.ts';
import { requireMailAddress, setEmail } from '../mail/mail-address.ts';
import type { PanelPrincipal } from '../principals.ts';
import { requireBalance } from './change-quota.ts';
import { type AccountView, describeAccount, loadAccount } from './list-accounts.ts';
import { requireGrantableRole, requireUnchanged } from './with-locked-accounts.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  passwords: PasswordHashes;
};

export type NewUserFields = {
  username: string;
  password: string;
  /** Default: the username. */
  display_name?: string | undefined;
  /** Default: a user. */
  role?: Role | undefined;
  /** Default: `default`. */
  group?: string | undefined;
  email?: string | undefined;
  /** The initial balance, as a grant. Default: that of every new account. */
  quota?: number | undefined;
  remark?: string | undefined;
};

/**
 * Creates an account on behalf of an administrator. People who register get theirs in
 * `accounts/create-account.ts`.
 *
 * @throws `auth.insufficient_privilege` for a role that the caller may not grant,
 * `auth.validation_failed`, `auth.name_taken`, `auth.identity_taken` for an address,
 * `auth.changed_meanwhile`.
 */
export async function createUser(ctx: Deps, principal: PanelPrincipal, fields: NewUserFields): Promise<AccountView> {
  const { store, clock, logger, passwords, settings } = ctx;
  const role = fields.role ?? ROLE.user;
  requireGrantableRole(principal.user, role);
  const username = validateUsername(fields.username);
  const account = {
    username,
    displayName: fields.display_name === undefined ? username : validateDisplayName(fields.display_name),
    group: fields.group === undefined ? 'default' : validateGroup(fields.group),
    remark: validateRemark(fields.remark ?? ''),
    email: fields.email === undefined ? null : requireMailAddress(fields.email),
  };
  const quota = requireBalance(fields.quota ?? settings().registration.quotaForNewUser, 'quota');
  await validateNewPassword(fields.password, username);
  const passwordHash = await passwords.hash(fields.password);

  const now = clock.unix();
  const created = await store.transaction(async (tx) => {
    requireGrantableRole(requireUnchanged(principal, await tx.users.lock([principal.user.id])), role);
    const { email, ...rest } = account;
    const user = await tx.users.insert({
      ...rest,
      email: null,
      passwordHash,
      role,
      status: STATUS.enabled,
      language: '',
      createdAt: now,
    });
    if (!user) throw authErrors.name_taken({ param: 'username' });
    if (email !== null) await setEmail(tx, user.id, { email, at: now });
    if (quota > 0) {
      const grant = { walletId: user.walletId, kind: 'grant', key: `account:${user.id}`, amount: quota } as const;
      await tx.ledger.grant({ ...grant, note: sentence('ledger.new_account'), at: now });
    }
    return loadAccount(tx, user.id);
  });
  logger.info({ userId: created.id, role, by: principal.user.id }, 'account created');
  return describeAccount(created);
}
