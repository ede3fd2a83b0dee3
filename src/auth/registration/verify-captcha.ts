import { isObject, type Logger, parseJson, sentence } from '../../kernel/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';

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
  return `The verification server responded with HTTP ${status} and no verdict.`;
}
