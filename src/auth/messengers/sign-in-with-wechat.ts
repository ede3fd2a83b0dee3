import { type AppError, isObject, parseJson, sentence, sha256Hex } from '../../kernel/index.ts';
import type { Counters, Store } from '../../store/ports/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { createFailureLimit, failureRuleFor } from '../limits/limit-guesses.ts';
import { bindIdentity, requireUnbound } from '../oauth/bind-identity.ts';
import { findOrCreateUser, type OwnerSignIn } from '../oauth/find-or-create-user.ts';
import { readSubject } from '../oauth/identity-provider.ts';
import {
  type DecidingIp,
  type PanelPrincipal,
  type RequestOrigin,
  requireSession,
  type SessionPrincipal,
} from '../principals.ts';
import { rememberSession } from '../sessions/check-session.ts';
import { completeSignIn, type SignInDeps } from '../sessions/complete-sign-in.ts';
import type { FlowBinding, FlowKey, Flows, FlowTicket } from '../tokens/flows.ts';

/** Dependencies of the operations in this file. */
type Deps = SignInDeps & {
  settings: () => AuthSettings;
  identifyByCode: IdentifyByCode;
};

/*
 * Sign-in and binding by a code of the WeChat official account. Both use a flow, so that a code
 * works only for the client who began. Every step rejects with `auth.method_disabled`; the second
 * steps also reject with `auth.flow_invalid` and with what `IdentifyByCode` throws, and leave the
 * flow unused unless they succeed.
 */

export type WeChatAnswer = {
  code: string;
  flowToken: string;
  origin: RequestOrigin;
  acceptLanguage?: string | undefined;
};

/** The provider name of WeChat identities. */
const WECHAT = 'wechat';
const SIGN_IN: FlowBinding = { provider: WECHAT, intent: 'login' };

export async function beginWeChatSignIn({
  store,
  settings,
  flows,
}: {
  store: Store;
  settings: () => AuthSettings;
  flows: Flows;
}): Promise<FlowTicket> {
  requireWeChat(settings());
  return flows.begin(store, { purpose: 'wechat_login', binding: SIGN_IN, payload: {} });
}

/** @throws also what `findOrCreateUser` throws, and a limit of session issuance. */
export const signInWithWeChat = (ctx: Deps, answer: WeChatAnswer): Promise<OwnerSignIn> =>
  ctx.signIns.watch({ method: WECHAT, origin: answer.origin }, async (attempt) => {
    const flow = flowKey(answer, SIGN_IN);
    const subject = await identify(ctx, answer, flow);
    attempt.identity = `${WECHAT}:${subject}`;
    const identity = { subject, username: '', displayName: 'WeChat User', email: '' };
    const { acceptLanguage } = answer;
    return findOrCreateUser(ctx, { provider: WECHAT, identity, affCode: '', acceptLanguage }, (proven) =>
      completeSignIn(ctx, {
        proven,
        method: WECHAT,
        origin: answer.origin,
        twoFactors: false,
        within: async (tx) => void (await ctx.flows.consume(tx, flow)),
      }),
    );
  });

/** @throws also `auth.session_required` and `auth.identity_taken`. */
export async function beginWeChatBinding(
  { store, settings, flows }: { store: Store; settings: () => AuthSettings; flows: Flows },
  principal: PanelPrincipal,
): Promise<FlowTicket> {
  requireWeChat(settings());
  const session = requireSession(principal);
  await requireUnbound(store, session.user.id, WECHAT);
  return flows.begin(store, {
    purpose: 'wechat_login',
    binding: bindingIn(session),
    payload: rememberSession(session),
  });
}

/**
 * Works only in the session that began the flow.
 *
 * @throws also what `bindIdentity` throws.
 */
export async function bindWeChat(
  ctx: Pick<Deps, 'store' | 'clock' | 'logger' | 'config' | 'settings' | 'flows' | 'notifyOwner' | 'identifyByCode'>,
  principal: PanelPrincipal,
  answer: WeChatAnswer,
): Promise<{ subject: string }> {
  const flow = flowKey(answer, bindingIn(requireSession(principal)));
  const subject = await identify(ctx, answer, flow);
  await bindIdentity(ctx, {
    provider: WECHAT,
    subject,
    origin: answer.origin,
    consume: (tx) => ctx.flows.consume(tx, flow),
  });
  return { subject };
}

/** The person's WeChat id. The WeChat server is asked only for a flow that can still be used. */
async function identify(
  ctx: Pick<Deps, 'store' | 'settings' | 'flows' | 'identifyByCode'>,
  { code, flowToken, origin }: WeChatAnswer,
  flow: FlowKey,
): Promise<string> {
  const { store, settings, flows, identifyByCode } = ctx;
  const server = requireWeChat(settings());
  await flows.find(store, flow);
  const endFlow = () => flows.consume(store, flow);
  return identifyByCode(server, { code, flowToken, ip: origin.decidingIp, endFlow });
}

const flowKey = ({ flowToken }: WeChatAnswer, binding: FlowBinding): FlowKey => ({
  token: flowToken,
  purpose: 'wechat_login',
  binding,
});

const bindingIn = ({ user, sid }: SessionPrincipal): FlowBinding => ({
  provider: WECHAT,
  intent: 'bind',
  userId: user.id,
  sessionId: sid,
});

export type WeChatServer = { serverAddress: string; serverToken: string };

/** @throws `auth.method_disabled` while WeChat is off or not set up. */
function requireWeChat({ providers }: AuthSettings): WeChatServer {
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

/** The value is that of new-api. */
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
    if (status !== 200) throw failed(`The WeChat server responded with HTTP ${status}.`);
    const verdict = parseJson(text);
    if (!isObject(verdict) || typeof verdict.success !== 'boolean') {
      throw failed("The WeChat server's response has an unknown format.");
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
