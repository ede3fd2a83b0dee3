import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { bindIdentity, requireUnbound } from '../oauth/bind-identity.ts';
import { findOrCreateUser, type OwnerLogin } from '../oauth/find-or-create-user.ts';
import { type PanelPrincipal, type RequestOrigin, requireSession, type SessionPrincipal } from '../principals.ts';
import { rememberSession } from '../sessions/check-session.ts';
import { completeLogin, type LoginDeps } from '../sessions/complete-login.ts';
import type { FlowBinding, FlowKey, Flows, FlowTicket } from '../tokens/flows.ts';
import { type IdentifyByCode, requireWeChat, WECHAT } from './identify-by-code.ts';

/** What the operations of this file use. */
type Deps = LoginDeps & {
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

const LOGIN: FlowBinding = { provider: WECHAT, intent: 'login' };

export async function beginWeChatLogin({
  store,
  settings,
  flows,
}: {
  store: Store;
  settings: () => AuthSettings;
  flows: Flows;
}): Promise<FlowTicket> {
  requireWeChat(settings());
  return flows.begin(store, { purpose: 'wechat_login', binding: LOGIN, payload: {} });
}

/** @throws also what `findOrCreateUser` throws, and a limit of session issuance. */
export const logInWithWeChat = (ctx: Deps, answer: WeChatAnswer): Promise<OwnerLogin> =>
  ctx.signIns.watch({ method: WECHAT, origin: answer.origin }, async (attempt) => {
    const flow = flowKey(answer, LOGIN);
    const subject = await identify(ctx, answer, flow);
    attempt.identity = `${WECHAT}:${subject}`;
    const identity = { subject, username: '', displayName: 'WeChat User', email: '' };
    const { acceptLanguage } = answer;
    return findOrCreateUser(ctx, { provider: WECHAT, identity, affCode: '', acceptLanguage }, (proven) =>
      completeLogin(ctx, {
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
