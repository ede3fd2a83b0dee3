import { type Logger, sentence } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { RequestLimit } from '../limits/limit-requests.ts';
import { assertAddressAllowed, MAIL_PROVIDER, requireMailAddress } from '../mail/mail-address.ts';
import { MAIL_CODE_MINUTES, type MailCodes, type MailLimit } from '../mail/mail-codes.ts';
import { pickLanguage } from '../mail/mail-languages.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { RequestOrigin } from '../principals.ts';
import { verifyCaptcha } from './verify-captcha.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  logger: Logger;
  upstream: Upstream;
  settings: () => AuthSettings;
  limitCodeRequests: RequestLimit;
  allowMail: MailLimit;
  mailQueue: MailQueue;
  mailCodes: MailCodes;
};

export type CodeRequest = {
  email: string;
  challengeToken?: string;
  acceptLanguage?: string;
  origin: RequestOrigin;
};

/**
 * Emails a code that confirms the address of a new account. Body and timing of the answer are the
 * same for a free and for a taken address: the same statements run, and only the email itself says
 * that an account exists.
 *
 * @throws `auth.registration_disabled`, `auth.method_disabled` (addresses are not confirmed here),
 * `auth.validation_failed`, `auth.challenge_failed`, `auth.rate_limited`.
 */
export async function sendVerification(
  ctx: Deps,
  { email, challengeToken, acceptLanguage, origin }: CodeRequest,
): Promise<void> {
  const { store, settings, limitCodeRequests, allowMail, mailCodes, mailQueue } = ctx;
  const { registration, emails, serverAddress } = settings();
  if (!registration.enabled) throw authErrors.registration_disabled();
  if (!registration.verifyEmail) {
    throw authErrors.method_disabled({ message: sentence('auth.mail_not_confirmed') });
  }
  const address = requireMailAddress(email);
  assertAddressAllowed(address, emails);
  await limitCodeRequests(origin.decidingIp);
  await verifyCaptcha(ctx, { token: challengeToken, ip: origin.ip });
  if (!(await allowMail('verify', address))) return;

  const owner = await store.identities.owner(MAIL_PROVIDER, address);
  // A code is issued for a taken address too, and never sent, so that the same writes take the same
  // time.
  const code = await mailCodes.issue(store, { purpose: 'email_verify', address, userId: 0 });
  mailQueue.post({
    to: address,
    language: pickLanguage(acceptLanguage),
    content: owner
      ? { kind: 'account_exists', loginUrl: `${serverAddress}/sign-in`, resetUrl: `${serverAddress}/forgot-password` }
      : { kind: 'verify', code, minutes: MAIL_CODE_MINUTES },
  });
}
