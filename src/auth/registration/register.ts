import type { Logger } from '../../kernel/index.ts';
import type { Repositories, Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors, invalidField } from '../errors.ts';
import { assertAddressAllowed, requireMailAddress } from '../mail/mail-address.ts';
import type { MailCodes, RightCode } from '../mail/mail-codes.ts';
import { pickLanguage } from '../mail/pick-language.ts';
import type { PasswordHashes } from '../passwords/password-hashes.ts';
import type { RequestOrigin } from '../types.ts';
import { validateNewPassword, validateUsername } from '../users/validate-account.ts';
import type { CreateAccount } from './create-account.ts';
import type { VerifyCaptcha } from './verify-captcha.ts';

export type Registration = {
  username: string;
  password: string;
  /**
   * Needed with its code where addresses are confirmed, left aside otherwise: an address that
   * nobody confirmed is nobody's.
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
 * Makes an account with a password; no session. The code, the account, its address and its quota
 * are one transaction.
 *
 * Rejects with `auth.registration_disabled`, `auth.validation_failed`, `auth.challenge_failed`,
 * `auth.code_invalid`, `auth.name_taken`; with `auth.identity_taken` only after a right code for
 * the address.
 */
export function createRegister(deps: {
  store: Store;
  logger: Logger;
  settings: () => AuthSettings;
  passwords: PasswordHashes;
  verifyCaptcha: VerifyCaptcha;
  mailCodes: MailCodes;
  createAccount: CreateAccount;
}): (registration: Registration) => Promise<Registered> {
  const { store, logger, settings, passwords, verifyCaptcha, mailCodes, createAccount } = deps;

  async function checkAddress(asked: Registration): Promise<{ email: string; code: RightCode } | undefined> {
    const { registration, emails } = settings();
    if (!registration.verifyEmail) return undefined;
    const email = requireMailAddress(asked.email ?? '');
    assertAddressAllowed(email, emails);
    if (!asked.verificationCode) throw invalidField('verification_code', 'the code from the mail is required.');
    return {
      email,
      code: await mailCodes.check({ purpose: 'email_verify', address: email, userId: 0 }, asked.verificationCode),
    };
  }

  return async (asked) => {
    const { enabled, byPassword } = settings().registration;
    if (!enabled || !byPassword) throw authErrors.registration_disabled();
    const username = validateUsername(asked.username);
    await validateNewPassword(asked.password, username);
    await verifyCaptcha({ token: asked.challengeToken, ip: asked.origin.ip });
    const confirmed = await checkAddress(asked);
    const account = {
      username,
      displayName: username,
      passwordHash: await passwords.hash(asked.password),
      email: confirmed?.email ?? null,
      language: pickLanguage(asked.acceptLanguage),
      affCode: asked.affCode,
    };
    const user = await store.transaction(async (tx: Repositories) => {
      await confirmed?.code.take(tx);
      return createAccount(tx, account);
    });
    logger.info({ userId: user.id, ip: asked.origin.ip }, 'account registered');
    return { userId: user.id, username: user.username };
  };
}
