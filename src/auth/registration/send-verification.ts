import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { RequestLimit } from '../limits/limit-requests.ts';
import type { MailLimit } from '../mail/limit-mails.ts';
import { assertAddressAllowed, MAIL_PROVIDER, requireMailAddress } from '../mail/mail-address.ts';
import { MAIL_CODE_MINUTES, type MailCodes } from '../mail/mail-codes.ts';
import type { Outbox } from '../mail/outbox.ts';
import { pickLanguage } from '../mail/pick-language.ts';
import type { RequestOrigin } from '../types.ts';
import type { VerifyCaptcha } from './verify-captcha.ts';

export type CodeRequest = {
  email: string;
  challengeToken?: string;
  acceptLanguage?: string;
  origin: RequestOrigin;
};

/**
 * Mails a code that confirms the address of a new account. Answers alike, in body and in time, for
 * a free and for a taken address: the same statements run, and only whoever reads the mailbox
 * learns that there is an account.
 *
 * Rejects with `auth.registration_disabled`, `auth.method_disabled` (addresses are not confirmed
 * here), `auth.validation_failed`, `auth.challenge_failed`, `auth.rate_limited`.
 */
export function createSendVerification(deps: {
  store: Store;
  settings: () => AuthSettings;
  limitCodeRequests: RequestLimit;
  allowLetter: MailLimit;
  verifyCaptcha: VerifyCaptcha;
  mailCodes: MailCodes;
  outbox: Outbox;
}): (request: CodeRequest) => Promise<void> {
  const { store, settings, limitCodeRequests, allowLetter, verifyCaptcha, mailCodes, outbox } = deps;

  return async ({ email, challengeToken, acceptLanguage, origin }) => {
    const { registration, emails, serverAddress } = settings();
    if (!registration.enabled) throw authErrors.registration_disabled();
    if (!registration.verifyEmail) {
      throw authErrors.method_disabled({ message: 'Mail addresses are not confirmed here.' });
    }
    const address = requireMailAddress(email);
    assertAddressAllowed(address, emails);
    await limitCodeRequests(origin.decidingIp);
    await verifyCaptcha({ token: challengeToken, ip: origin.ip });
    if (!(await allowLetter('verify', address))) return;

    const owner = await store.identities.owner(MAIL_PROVIDER, address);
    // Made for a taken address too, and told to nobody: what is written takes its time.
    const code = await mailCodes.issue(store, { purpose: 'email_verify', address, userId: 0 });
    outbox.post({
      to: address,
      language: pickLanguage(acceptLanguage),
      content: owner
        ? { kind: 'account_exists', loginUrl: `${serverAddress}/sign-in`, resetUrl: `${serverAddress}/forgot-password` }
        : { kind: 'verify', code, minutes: MAIL_CODE_MINUTES },
    });
  };
}
