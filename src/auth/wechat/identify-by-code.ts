import { type AppError, isObject, parseJson, sha256Hex } from '../../kernel/index.ts';
import type { Counters } from '../../store/ports/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { createFailureLimit, failuresOf } from '../limits/limit-guesses.ts';
import { readSubject } from '../oauth/identity-provider.ts';
import type { DecidingIp } from '../types.ts';

/** The provider of WeChat's identities. */
export const WECHAT = 'wechat';

export type WeChatServer = { serverAddress: string; serverToken: string };

/** Rejects with `auth.method_disabled` while WeChat is off or not set up. */
export function requireWeChat({ providers }: AuthSettings): WeChatServer {
  if (!providers.wechat) throw authErrors.method_disabled();
  return providers.wechat;
}

export type WeChatCode = {
  /** What the official account answered to the person. */
  code: string;
  /** In which flow it is given, and from where. */
  flowToken: string;
  ip: DecidingIp;
  /**
   * Uses the flow up: too many wrong codes were given in it, from wherever. What it rejects with is
   * the answer.
   */
  endFlow: () => Promise<unknown>;
};

/**
 * Asks the WeChat server whose code it is; gives the person's id there. Rejects with
 * `auth.code_invalid` for a code of nobody; `auth.too_many_attempts`; `auth.provider_failed` when
 * the server does not answer as it should within five seconds.
 */
export type IdentifyByCode = (server: WeChatServer, code: WeChatCode) => Promise<string>;

/** As in new-api. */
const PATIENCE_MS = 5000;
/** Wrong codes of a flow, which lives for ten minutes. */
const PER_FLOW = { limit: 5, windowSeconds: 600 };
/**
 * Wrong codes of everybody: many addresses together find one of the few codes that are alive no
 * sooner than in a day or so.
 */
const OF_ALL = { key: 'wechat-codes', limit: 60, windowSeconds: 60 };
/** Codes are a few digits; what is of another kind is not sent on. */
const CODE = /^[A-Za-z0-9_-]{1,64}$/;

export function createIdentifyByCode(deps: { counters: Counters; upstream: Upstream }): IdentifyByCode {
  const { counters, upstream } = deps;
  // A limit of its own: a WeChat server that hangs takes the turn of no password.
  const limitFailures = createFailureLimit(counters);

  async function ask({ serverAddress, serverToken }: WeChatServer, code: string): Promise<string | undefined> {
    const answer = await openProvider(
      upstream,
      [serverAddress],
      PATIENCE_MS,
    )({
      url: `${serverAddress}/api/wechat/user?code=${encodeURIComponent(code)}`,
      headers: { authorization: serverToken },
    });
    if (!answer.ok) throw failed(answer.error.message);
    const { status, text } = answer.value;
    if (status !== 200) throw failed(`The WeChat server answered with status ${status}.`);
    const verdict = parseJson(text);
    if (!isObject(verdict) || typeof verdict.success !== 'boolean') {
      throw failed('The WeChat server did not answer as a WeChat server does.');
    }
    return verdict.success && verdict.data !== '' ? readSubject(verdict.data) : undefined;
  }

  return async (server, { code, flowToken, ip, endFlow }) => {
    if (!CODE.test(code)) throw authErrors.code_invalid();
    const ofFlow = { key: `wechat-flow:${sha256Hex(flowToken)}`, ...PER_FLOW };
    const subject = await limitFailures([ofFlow, failuresOf(ip), OF_ALL], () => ask(server, code));
    if (subject !== undefined) return subject;
    const wrong = await counters.peek(ofFlow.key);
    if (wrong && wrong.count >= PER_FLOW.limit) await endFlow();
    throw authErrors.code_invalid();
  };
}

const failed = (cause: string): AppError =>
  authErrors.provider_failed({ message: 'The WeChat server did not answer as it should. Try again later.', cause });
