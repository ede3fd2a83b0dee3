import { isObject, type Logger, parseJson } from '../../kernel/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';

/**
 * Asks Turnstile whether a person solved the challenge of this page. Passes at once while none is
 * asked for. Rejects with `auth.challenge_failed` without a token, for a wrong or used one, and
 * when the verifier cannot be asked or its secret key cannot be read: trouble there opens nothing.
 */
export type VerifyCaptcha = (answer: { token: string | undefined; ip: string }) => Promise<void>;

export function createVerifyCaptcha(deps: {
  upstream: Upstream;
  settings: () => AuthSettings;
  logger: Logger;
}): VerifyCaptcha {
  const { upstream, settings, logger } = deps;

  /** Whether the token is good, or why nobody can tell. */
  async function verify(url: string, form: Record<string, string>): Promise<boolean | string> {
    const answer = await openProvider(upstream, [url])({ url, body: { form } });
    if (!answer.ok) return answer.error.message;
    const { status, text } = answer.value;
    const verdict = status < 500 ? parseJson(text) : undefined;
    if (isObject(verdict) && typeof verdict.success === 'boolean') return verdict.success;
    return `The verifier answered ${status} without a verdict.`;
  }

  return async ({ token, ip }) => {
    const { challenge } = settings();
    if (!challenge) return;
    if (challenge === 'unusable') {
      logger.error({}, 'the challenge is switched on and cannot be used: enter its secret key again');
      throw authErrors.challenge_failed({
        message: 'The challenge cannot take place at this time: tell the administrator.',
      });
    }
    if (!token) throw authErrors.challenge_failed({ message: 'Solve the challenge of the page first.' });
    const verdict = await verify(challenge.verifyUrl, { secret: challenge.secretKey, response: token, remoteip: ip });
    if (verdict === true) return;
    if (verdict !== false) logger.error({ reason: verdict }, 'the verifier of the challenge could not be asked');
    throw authErrors.challenge_failed();
  };
}
