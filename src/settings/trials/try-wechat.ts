import { isObject, parseJson } from '../../kernel/index.ts';
import type { CallProvider } from '../../upstream/index.ts';
import type { TrialResult } from '../types.ts';
import { recordSteps } from './record-steps.ts';

/** Asks the WeChat server for the user of an invented code. */
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
    return steps.fail('token', 'The WeChat server does not accept the token: enter WeChatServerToken again.');
  }
  const verdict = status === 200 ? parseJson(text) : undefined;
  if (!isObject(verdict) || typeof verdict.success !== 'boolean') {
    return steps.fail('answer', `This is not a WeChat server, it answered ${status}: check WeChatServerAddress.`);
  }
  if (verdict.success && verdict.data !== '')
    return steps.fail('answer', 'The WeChat server returned a user for an invented code.');
  steps.pass('answer', 'The WeChat server knows no user for an invented code, as it should.');
  return steps.end();
}
