import { isObject, parseJson } from '../../kernel/index.ts';
import type { CallProvider } from '../../upstream/index.ts';
import type { TrialResult } from '../types.ts';
import { recordSteps } from './record-steps.ts';

/** Sends an invented answer: the verifier checks the secret key before it checks the answer. */
export async function tryTurnstile(
  ask: CallProvider,
  settings: { secretKey: string; verifyUrl: string },
): Promise<TrialResult> {
  const steps = recordSteps();
  const form = { secret: settings.secretKey, response: 'an invented answer' };
  const answer = await ask({ url: settings.verifyUrl, body: { form } });
  if (!answer.ok) return steps.fail('connect', answer.error.message);
  steps.pass('connect', 'The verifier answered.');

  const verdict = parseJson(answer.value.text);
  if (!isObject(verdict) || typeof verdict.success !== 'boolean') {
    return steps.fail(
      'verdict',
      `The verifier answered ${answer.value.status} without a verdict: check TurnstileVerifyUrl.`,
    );
  }
  const codes = Array.isArray(verdict['error-codes']) ? verdict['error-codes'] : [];
  if (codes.some((code) => code === 'invalid-input-secret' || code === 'missing-input-secret')) {
    return steps.fail('secret', 'The verifier does not know the secret key: enter TurnstileSecretKey again.');
  }
  if (!verdict.success && !codes.includes('invalid-input-response')) {
    return steps.fail('verdict', 'The verifier refused the request itself: try again later.');
  }
  steps.pass(
    'secret',
    verdict.success
      ? 'The verifier accepts the secret key, and any answer: this is a test key, which stops nobody.'
      : 'The verifier accepts the secret key.',
  );
  return steps.end();
}
