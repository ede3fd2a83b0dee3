import { type AppError, isObject, parseJson, sentence, sha256Hex } from '../../kernel/index.ts';
import type { Counters } from '../../store/ports/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { createFailureLimit, failureRuleFor } from '../limits/limit-guesses.ts';
import { readSubject } from '../oauth/identity-provider.ts';
import type { DecidingIp } from '../principals.ts';

/** The provider name of WeChat identities. */
export const WECHAT = 'wechat';

export type WeChatServer = { serverAddress: string; serverToken: string };

/** @throws `auth.method_disabled` while WeChat is off or not set up. */
export function requireWeChat({ providers }: AuthSettings): WeChatServer {
  if (!providers.wechat) throw authErrors.method_disabled();
  return providers.wechat;
}

export type WeChatCode = {
  /** The code that the official account sent to the person. */
  code: string;
  /** The flow in which the code is used. */
  flowToken: string;
  ip: DecidingIp;
  /**
   * Uses the flow up after too many wrong codes in it, from any address. When it rejects, so does
   * the identification.
   */
  endFlow: () => Promise<unknown>;
};

/**
 * Asks the WeChat server for the person behind a code and gives their id there.
 *
 * @throws `auth.code_invalid` for an unknown code; `auth.too_many_attempts`; `auth.provider_failed`
 * when the server gives no valid answer within five seconds.
 */
export type IdentifyByCode = (server: WeChatServer, code: WeChatCode) => Promise<string>;

/** As in new-api. */
const TIMEOUT_MS = 5000;
/** Wrong codes per flow, which lives for ten minutes. */
const PER_FLOW = { limit: 5, windowSeconds: 600 };
/**
 * Wrong codes of all clients: even many addresses together need about a day to guess one of the few
 * valid codes.
 */
const OVERALL = { key: 'wechat-codes', limit: 60, windowSeconds: 60 };
/** Codes are a few digits. Anything of another form is not sent to the server. */
const CODE = /^[A-Za-z0-9_-]{1,64}$/;

export function createIdentifyByCode(deps: { counters: Counters; upstream: Upstream }): IdentifyByCode {
  const { counters, upstream } = deps;
  // Its own limit, so that a WeChat server that hangs does not block the check of passwords.
  const limitFailures = createFailureLimit(counters);

  async function askServer({ serverAddress, serverToken }: WeChatServer, code: string): Promise<string | undefined> {
    const call = openProvider(upstream, [serverAddress], TIMEOUT_MS);
    const answer = await call({
      url: `${serverAddress}/api/wechat/user?code=${encodeURIComponent(code)}`,
      headers: { authorization: serverToken },
    });
    if (!answer.ok) throw failed(answer.error.message);
    const { status, text } = answer.value;
    if (status !== 200) throw failed(`The WeChat server answered with status ${status}.`);
    const verdict = parseJson(text);
    if (!isObject(verdict) || typeof verdict.success !== 'boolean') {
      throw failed('The answer of the WeChat server has an unknown format.');
    }
    return verdict.success && verdict.data !== '' ? readSubject(verdict.data) : undefined;
  }

  return async (server, { code, flowToken, ip, endFlow }) => {
    if (!CODE.test(code)) throw authErrors.code_invalid();
    const perFlow = { key: `wechat-flow:${sha256Hex(flowToken)}`, ...PER_FLOW };
    const subject = await limitFailures([perFlow, failureRuleFor(ip), OVERALL], () => askServer(server, code));
    if (subject !== undefined) return subject;
    const wrong = await counters.peek(perFlow.key);
    if (wrong && wrong.count >= PER_FLOW.limit) await endFlow();
    throw authErrors.code_invalid();
  };
}

const failed = (cause: string): AppError =>
  authErrors.provider_failed({ message: sentence('auth.wechat_failed'), cause });
