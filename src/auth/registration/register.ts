import { type Clock, type Logger, sentence } from '../../kernel/index.ts';
import type { Repositories, Store } from '../../store/ports/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import { createAccount } from '../accounts/create-account.ts';
import { validateNewPassword, validateUsername } from '../accounts/validate-account.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import type { PasswordHashes } from '../credentials/password-hashes.ts';
import { authErrors, invalidField } from '../errors.ts';
import { assertAddressAllowed, requireMailAddress } from '../mail/mail-address.ts';
import type { MailCodes, VerifiedCode } from '../mail/mail-codes.ts';
import { pickLanguage } from '../mail/mail-languages.ts';
import type { RequestOrigin } from '../principals.ts';
import { verifyCaptcha } from './verify-captcha.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  upstream: Upstream;
  config: AuthConfig;
  settings: () => AuthSettings;
  passwords: PasswordHashes;
  mailCodes: MailCodes;
};

export type Registration = {
  username: string;
  password: string;
  /**
   * Required with its code where addresses are confirmed. Ignored otherwise: an unconfirmed address
   * belongs to nobody.
   */
  email?: string;
  verificationCode?: string;
  affCode?: string;
  challengeToken?: string;
  acceptLanguage?: string;
  origin: RequestOrigin;
};

export type Registered = { userId: number; username: string };

/**
 * Creates an account with a password; opens no session. Code, account, address and quota are one
 * transaction.
 *
 * @throws `auth.registration_disabled`, `auth.validation_failed`, `auth.challenge_failed`,
 * `auth.code_invalid`, `auth.name_taken`; `auth.identity_taken` only after a right code for the
 * address.
 */
export async function register(ctx: Deps, registration: Registration): Promise<Registered> {
  const { store, logger, settings, passwords } = ctx;
  const { enabled, byPassword } = settings().registration;
  if (!enabled || !byPassword) throw authErrors.registration_disabled();
  const username = validateUsername(registration.username);
  await validateNewPassword(registration.password, username);
  await verifyCaptcha(ctx, { token: registration.challengeToken, ip: registration.origin.ip });
  const confirmed = await checkAddress(ctx, registration);
  const account = {
    username,
    displayName: username,
    passwordHash: await passwords.hash(registration.password),
    email: confirmed?.email ?? null,
    language: pickLanguage(registration.acceptLanguage),
    affCode: registration.affCode,
  };
  const user = await store.transaction(async (tx: Repositories) => {
    await confirmed?.code.consume(tx);
    return createAccount(ctx, tx, account);
  });
  logger.info({ userId: user.id, ip: registration.origin.ip }, 'account registered');
  return { userId: user.id, username: user.username };
}

async function checkAddress(
  { settings, mailCodes }: { settings: () => AuthSettings; mailCodes: MailCodes },
  fields: Registration,
): Promise<{ email: string; code: VerifiedCode } | undefined> {
  const { registration, emails } = settings();
  if (!registration.verifyEmail) return undefined;
  const email = requireMailAddress(fields.email ?? '');
  assertAddressAllowed(email, emails);
  if (!fields.verificationCode) throw invalidField('verification_code', sentence('auth.mail_code_required'));
  return {
    email,
    code: await mailCodes.check({ purpose: 'email_verify', address: email, userId: 0 }, fields.verificationCode),
  };
}
