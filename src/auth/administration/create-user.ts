import type { Clock, Logger } from '../../kernel/index.ts';
import type { Role, Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { requireMailAddress } from '../mail/mail-address.ts';
import type { PasswordHashes } from '../passwords/password-hashes.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { setEmail } from '../users/own-email.ts';
import { validateNewPassword, validateUsername } from '../users/validate-account.ts';
import { validateDisplayName, validateGroup, validateRemark } from '../users/validate-details.ts';
import { requireBalance } from './change-quota.ts';
import { type AccountView, describeAccount } from './describe-account.ts';
import { loadAccount } from './list-accounts.ts';
import { requireGrantableRole } from './rank-rules.ts';
import { requireUnchanged } from './with-locked-accounts.ts';

export type NewAccount = {
  username: string;
  password: string;
  /** Left out: the user name. */
  display_name?: string | undefined;
  /** Left out: 1, a user. */
  role?: Role | undefined;
  /** Left out: `default`. */
  group?: string | undefined;
  email?: string | undefined;
  /** What the account begins with, as a grant; left out: what every new account gets. */
  quota?: number | undefined;
  remark?: string | undefined;
};

/**
 * Makes an account. Rejects with `auth.insufficient_privilege` for a role that is not the caller's
 * to give, `auth.validation_failed`, `auth.name_taken`, `auth.identity_taken` for an address,
 * `auth.changed_meanwhile`.
 */
export function createCreateUser(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  passwords: PasswordHashes;
  settings: () => AuthSettings;
}) {
  const { store, clock, logger, passwords, settings } = deps;

  return async (principal: PanelPrincipal, fields: NewAccount): Promise<AccountView> => {
    const role = fields.role ?? 1;
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
    const made = await store.transaction(async (tx) => {
      requireGrantableRole(requireUnchanged(principal, await tx.users.hold([principal.user.id])), role);
      const { email, ...rest } = account;
      const user = await tx.users.insert({
        ...rest,
        email: null,
        passwordHash,
        role,
        status: USER_ENABLED,
        language: '',
        createdAt: now,
      });
      if (!user) throw authErrors.name_taken({ param: 'username' });
      if (email !== null) await setEmail(tx, user.id, { email, at: now });
      if (quota > 0) {
        const grant = { userId: user.id, kind: 'grant', key: `account:${user.id}`, amount: quota } as const;
        await tx.ledger.grant({ ...grant, note: 'new account', at: now });
      }
      return loadAccount(tx, user.id);
    });
    logger.info({ userId: made.id, role, by: principal.user.id }, 'account created');
    return describeAccount(made);
  };
}
