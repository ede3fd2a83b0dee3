import { isObject, parseJson } from '../../kernel/index.ts';
import type { CallProvider } from '../../upstream/index.ts';
import type { TrialResult } from '../types.ts';
import { recordSteps } from './record-steps.ts';

/** Asks the WeChat server whose code it is that nobody was given. */
export async function tryWeChat(
  ask: CallProvider,
  settings: { serverAddress: string; serverToken: string },
): Promise<TrialResult> {
  const steps = recordSteps();
  const answer = await ask({
    url: `${settings.serverAddress}/api/wechat/user?code=000000`,
    headers: { authorization: settings.serverToken },
  });
  if (!answer.ok) return steps.fail('connect', answer.error.message);
  const { status, text } = answer.value;
  steps.pass('connect', 'The WeChat server answered.');

  if (status === 401 || status === 403) {
    return steps.fail('token', 'The WeChat server does not take the token: enter WeChatServerToken again.');
  }
  const verdict = status === 200 ? parseJson(text) : undefined;
  if (!isObject(verdict) || typeof verdict.success !== 'boolean') {
    return steps.fail('answer', `This is no WeChat server, it answered ${status}: check WeChatServerAddress.`);
  }
  if (verdict.success && verdict.data !== '')
    return steps.fail('answer', 'The WeChat server gave a user for a code that nobody has.');
  steps.pass('answer', 'The WeChat server knows no user of an invented code, as it should.');
  return steps.end();
}
