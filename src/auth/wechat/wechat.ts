import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import type { FlowBinding, Flows, FlowTicket } from '../flows/flows.ts';
import type { CompleteLogin } from '../login/complete-login.ts';
import type { FindOrCreateUser, OwnerLogin } from '../oauth/find-or-create-user.ts';
import { requireSession, type SessionPrincipal } from '../require-session.ts';
import { rememberSession } from '../sessions/origin-session.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import { type BindIdentity, requireUnbound } from '../users/bind-identity.ts';
import { type IdentifyByCode, requireWeChat, WECHAT } from './identify-by-code.ts';

export type WeChatAnswer = { code: string; flowToken: string; origin: RequestOrigin };

/**
 * Sign-in and binding by a code of the WeChat official account. Both have a flow, so that a code
 * serves only whoever began. Every step rejects with `auth.method_disabled`, and the second ones
 * with `auth.flow_invalid` and as `IdentifyByCode`; they leave the flow unused unless they succeed.
 */
export interface WeChat {
  beginLogin(): Promise<FlowTicket>;
  /** Rejects as `FindOrCreateUser` and with a limit of session issuance too. */
  logIn(answer: WeChatAnswer): Promise<OwnerLogin>;
  /** Rejects with `auth.session_required` and `auth.identity_taken` too. */
  beginBinding(principal: PanelPrincipal): Promise<FlowTicket>;
  /** In the session that began it alone. Rejects as `BindIdentity` too. */
  bind(principal: PanelPrincipal, answer: WeChatAnswer): Promise<{ subject: string }>;
}

export function createWeChat(deps: {
  store: Store;
  settings: () => AuthSettings;
  flows: Flows;
  completeLogin: CompleteLogin;
  signIns: SignIns;
  identifyByCode: IdentifyByCode;
  findOrCreateUser: FindOrCreateUser;
  bindIdentity: BindIdentity;
}): WeChat {
  const { store, settings, flows, completeLogin, identifyByCode, findOrCreateUser, bindIdentity, signIns } = deps;
  const login: FlowBinding = { provider: WECHAT, intent: 'login' };

  /** Whose code it is, asked only for a flow that can still be used. */
  async function identify({ code, flowToken, origin }: WeChatAnswer, binding: FlowBinding): Promise<string> {
    const server = requireWeChat(settings());
    await flows.find(store, flowToken, 'wechat_login', binding);
    const endFlow = () => flows.consume(store, flowToken, 'wechat_login', binding);
    return identifyByCode(server, { code, flowToken, ip: origin.decidingIp, endFlow });
  }

  return {
    async beginLogin() {
      requireWeChat(settings());
      return flows.begin(store, 'wechat_login', login, {});
    },

    logIn: (answer) =>
      signIns.watch({ method: WECHAT, origin: answer.origin }, async (attempt) => {
        const subject = await identify(answer, login);
        attempt.identity = `${WECHAT}:${subject}`;
        const identity = { subject, username: '', displayName: 'WeChat User', email: '' };
        return findOrCreateUser({ provider: WECHAT, identity, affCode: '' }, (proven) =>
          completeLogin({
            proven,
            method: WECHAT,
            origin: answer.origin,
            twoFactors: false,
            within: async (tx) => void (await flows.consume(tx, answer.flowToken, 'wechat_login', login)),
          }),
        );
      }),

    async beginBinding(principal) {
      requireWeChat(settings());
      const session = requireSession(principal);
      await requireUnbound(store, session.user.id, WECHAT);
      return flows.begin(store, 'wechat_login', inSession(session), rememberSession(session));
    },

    async bind(principal, answer) {
      const binding = inSession(requireSession(principal));
      const subject = await identify(answer, binding);
      await bindIdentity({
        provider: WECHAT,
        subject,
        origin: answer.origin,
        consume: (tx) => flows.consume(tx, answer.flowToken, 'wechat_login', binding),
      });
      return { subject };
    },
  };
}

const inSession = ({ user, sid }: SessionPrincipal): FlowBinding => ({
  provider: WECHAT,
  intent: 'bind',
  userId: user.id,
  sessionId: sid,
});
