import { type Logger, sentence } from '../../kernel/index.ts';
import { type Repositories, ROLE, STATUS, type Store, type UserRecord } from '../../store/ports/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import { validateNewPassword } from '../accounts/validate-account.ts';
import type { AuthSettings } from '../config.ts';
import type { PasswordHashes } from '../credentials/password-hashes.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER, readMailAddress, requireMailAddress } from '../mail/mail-address.ts';
import { MAIL_CODE_MINUTES, type MailCodes, type MailLimit } from '../mail/mail-codes.ts';
import { pickLanguage } from '../mail/mail-languages.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { RequestOrigin } from '../principals.ts';
import type { CodeRequest } from '../registration/send-verification.ts';
import { verifyCaptcha } from '../registration/verify-captcha.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';

/** Dependencies of the operations in this file. */
export type ResetDeps = {
  store: Store;
  logger: Logger;
  upstream: Upstream;
  settings: () => AuthSettings;
  sessions: SessionRegistry;
  passwords: PasswordHashes;
  allowMail: MailLimit;
  mailQueue: MailQueue;
  notifyOwner: NotifyOwner;
  mailCodes: MailCodes;
};

export type PasswordReset = {
  username: string;
  password: string;
  /**
   * Also removes everything else that signs in, confirms or receives mail for the account:
   * two-factor, backup codes, passkeys, the personal access token, bound identities, the email
   * address. An intruder may have added their own.
   */
  resetFactors: boolean;
};

/** `twoFactor`: sign-in still asks for a second factor. */
export type PasswordResetDone = { userId: number; username: string; isRoot: boolean; twoFactor: boolean };

/**
 * Sets a user's password without the old one, for the command line. One transaction sets it,
 * advances `auth_version`, ends every session and removes the factors if `resetFactors` asks for
 * that. Otherwise factors and the personal access token stay, for owners who only forgot their
 * password.
 *
 * @throws `auth.user_not_found`, `auth.validation_failed`, or `auth.changed_meanwhile`.
 */
export async function resetPassword(
  ctx: Pick<ResetDeps, 'store' | 'logger' | 'sessions' | 'passwords' | 'notifyOwner'>,
  { username, password, resetFactors }: PasswordReset,
): Promise<PasswordResetDone> {
  const { store, logger, passwords, sessions } = ctx;
  const user = await store.users.byNameOrAddress(username.trim());
  if (!user) throw authErrors.user_not_found();
  await validateNewPassword(password, user.username);
  const passwordHash = await passwords.hash(password);
  const ending = { userId: user.id, exceptSid: null, reason: 'password_reset' };
  const twoFactor = await sessions.endAll(ending, (end) =>
    store.transaction(async (tx) => {
      if (!(await tx.users.setPassword(user.id, passwordHash, user.authVersion))) throw authErrors.changed_meanwhile();
      if (resetFactors) await removeFactors(tx, user.id);
      await end(tx);
      return (await tx.twoFactor.byUser(user.id))?.enabled ?? false;
    }),
  );
  logger.warn({ userId: user.id, resetFactors }, 'password reset; all sessions ended');
  await ctx.notifyOwner(user, { about: resetFactors ? 'factors_removed' : 'password_changed', by: 'operator' });
  return { userId: user.id, username: user.username, isRoot: user.role === ROLE.root, twoFactor };
}

async function removeFactors(tx: Repositories, userId: number): Promise<void> {
  await tx.twoFactor.delete(userId);
  await tx.passkeys.deleteAll(userId);
  await tx.users.setAccessToken(userId, null);
  await tx.users.update(userId, { email: null });
  await tx.identities.releaseAll(userId);
  await tx.flows.deleteOfUser(userId);
}

export type MailedReset = {
  email: string;
  /** The link has it. */
  token: string;
  password: string;
  acceptLanguage?: string;
  origin: RequestOrigin;
};

/** The user whose password was reset. */
export type MailedResetDone = { userId: number; username: string };

const toHolder = (address: string) => ({ purpose: 'password_reset', address, userId: 0 }) as const;

/**
 * Emails a reset link to the owner of an address. Body and timing of the answer are the same
 * whether there is an owner or not: the same statements run.
 *
 * @throws `auth.method_disabled` while no email can be sent, `auth.validation_failed`,
 * `auth.challenge_failed`.
 */
export async function requestResetByMail(
  ctx: Pick<ResetDeps, 'store' | 'logger' | 'upstream' | 'settings' | 'allowMail' | 'mailQueue' | 'mailCodes'>,
  { email, challengeToken, acceptLanguage, origin }: CodeRequest,
): Promise<void> {
  const { store, settings, allowMail, mailCodes, mailQueue } = ctx;
  const { mail, serverAddress } = settings();
  if (!mail) throw authErrors.method_disabled({ message: sentence('auth.no_mail') });
  const address = requireMailAddress(email);
  await verifyCaptcha(ctx, { token: challengeToken, ip: origin.ip });
  if (!(await allowMail('reset', address))) return;

  const user = await findOwner(ctx, address);
  // A token is issued for an unknown address too, for no user, so that the same writes take the
  // same time.
  const token = await mailCodes.issue(store, toHolder(address), {
    user_id: user?.id ?? 0,
    auth_version: user?.authVersion ?? 0,
  });
  if (!user) return;
  const link = `${serverAddress}/user/reset?${new URLSearchParams({ email: address, token })}`;
  mailQueue.post({
    to: address,
    language: pickLanguage(acceptLanguage, user.language),
    content: { kind: 'reset', username: user.username, link, minutes: MAIL_CODE_MINUTES },
  });
}

/**
 * Sets the password that the user typed, and uses the link up. Every session ends and
 * `auth_version` advances. A second factor stays and is asked for at the next sign-in.
 *
 * @throws `auth.flow_invalid`, the same for an unknown address and a wrong token;
 * `auth.validation_failed` (the link stays usable); `auth.changed_meanwhile`.
 */
export async function finishResetByMail(
  ctx: Pick<ResetDeps, 'store' | 'logger' | 'sessions' | 'passwords' | 'notifyOwner' | 'mailCodes'>,
  { email, token, password, origin }: MailedReset,
): Promise<MailedResetDone> {
  const { store, logger, passwords, sessions, mailCodes } = ctx;
  const address = readMailAddress(email);
  if (address === undefined) throw authErrors.flow_invalid();
  const link = await mailCodes.check(toHolder(address), token);
  // Since the link was sent, the address may have moved to another account or been unbound, or the
  // account may have had a security change, which invalidates old links.
  const user = await findOwner(ctx, address);
  const { user_id, auth_version } = link.flow.payload;
  if (!user || user.id !== user_id || user.authVersion !== auth_version) throw authErrors.flow_invalid();
  await validateNewPassword(password, user.username);
  const passwordHash = await passwords.hash(password);

  const ending = { userId: user.id, exceptSid: null, reason: 'password_reset' };
  await sessions.endAll(ending, (end) =>
    store.transaction(async (tx) => {
      await link.consume(tx);
      const owner = await tx.identities.owner(MAIL_PROVIDER, address);
      const written =
        owner?.userId === user.id && (await tx.users.setPassword(user.id, passwordHash, user.authVersion));
      if (!written) throw authErrors.changed_meanwhile();
      await end(tx);
    }),
  );
  logger.warn({ userId: user.id, ip: origin.ip }, 'password reset by a mailed link; all sessions ended');
  await ctx.notifyOwner({ ...user, email: address }, { about: 'password_reset', origin });
  return { userId: user.id, username: user.username };
}

/** The enabled user who owns an address. Always runs two statements. */
async function findOwner({ store }: { store: Store }, address: string): Promise<UserRecord | undefined> {
  const owner = await store.identities.owner(MAIL_PROVIDER, address);
  const user = await store.users.byId(owner?.userId ?? 0);
  return user?.status === STATUS.enabled ? user : undefined;
}
