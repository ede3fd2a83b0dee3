import { isObject, type Logger, parseJson, sentence } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { RequestLimit } from '../limits/limit-requests.ts';
import { assertAddressAllowed, MAIL_PROVIDER, requireMailAddress } from '../mail/mail-address.ts';
import { MAIL_CODE_MINUTES, type MailCodes, type MailLimit } from '../mail/mail-codes.ts';
import { pickLanguage } from '../mail/mail-languages.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { RequestOrigin } from '../principals.ts';

/** What the operations of this file use. */
type Deps = {
  store: Store;
  logger: Logger;
  upstream: Upstream;
  settings: () => AuthSettings;
  limitCodeRequests: RequestLimit;
  allowMail: MailLimit;
  outbox: Outbox;
  mailCodes: MailCodes;
};

export type CodeRequest = {
  email: string;
  challengeToken?: string;
  acceptLanguage?: string;
  origin: RequestOrigin;
};

/**
 * Mails a code that confirms the address of a new account. Body and timing of the answer are the
 * same for a free and for a taken address: the same statements run, and only the mail itself says
 * that an account exists.
 *
 * @throws `auth.registration_disabled`, `auth.method_disabled` (addresses are not confirmed here),
 * `auth.validation_failed`, `auth.challenge_failed`, `auth.rate_limited`.
 */
export async function sendVerification(
  ctx: Deps,
  { email, challengeToken, acceptLanguage, origin }: CodeRequest,
): Promise<void> {
  const { store, settings, limitCodeRequests, allowMail, mailCodes, outbox } = ctx;
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
  outbox.post({
    to: address,
    language: pickLanguage(acceptLanguage),
    content: owner
      ? { kind: 'account_exists', loginUrl: `${serverAddress}/sign-in`, resetUrl: `${serverAddress}/forgot-password` }
      : { kind: 'verify', code, minutes: MAIL_CODE_MINUTES },
  });
}

/**
 * Asks Turnstile whether a person solved the captcha of this page. Passes at once while no captcha
 * is set up. It fails closed: trouble with the verifier lets nobody through.
 *
 * @throws `auth.challenge_failed` without a token, for a wrong or used one, when the verifier
 * cannot be reached, and when its secret key cannot be read.
 */
export async function verifyCaptcha(
  ctx: { logger: Logger; upstream: Upstream; settings: () => AuthSettings },
  { token, ip }: { token: string | undefined; ip: string },
): Promise<void> {
  const { settings, logger } = ctx;
  const { challenge } = settings();
  if (!challenge) return;
  if (challenge === 'unusable') {
    logger.error({}, 'the captcha is switched on but its secret key cannot be read: enter the key again');
    throw authErrors.challenge_failed({
      message: sentence('auth.challenge_unavailable'),
    });
  }
  if (!token) throw authErrors.challenge_failed({ message: sentence('auth.challenge_missing') });
  const form = { secret: challenge.secretKey, response: token, remoteip: ip };
  const verdict = await askVerifier(ctx, challenge.verifyUrl, form);
  if (verdict === true) return;
  if (verdict !== false)
    logger.error({ reason: verdict }, 'the captcha verifier gave no verdict; the request is refused');
  throw authErrors.challenge_failed();
}

/** The verifier's verdict, or why there is none. */
async function askVerifier(
  { upstream }: { upstream: Upstream },
  url: string,
  form: Record<string, string>,
): Promise<boolean | string> {
  const answer = await openProvider(upstream, [url])({ url, body: { form } });
  if (!answer.ok) return answer.error.message;
  const { status, text } = answer.value;
  const verdict = status < 500 ? parseJson(text) : undefined;
  if (isObject(verdict) && typeof verdict.success === 'boolean') return verdict.success;
  return `The verifier answered ${status} without a verdict.`;
}
