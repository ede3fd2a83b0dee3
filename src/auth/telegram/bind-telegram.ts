import type { Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { Flows, FlowTicket } from '../flows/flows.ts';
import { requireSession, type SessionPrincipal } from '../require-session.ts';
import { rememberSession } from '../sessions/origin-session.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import { type BindIdentity, requireUnbound } from '../users/bind-identity.ts';
import { readAssertion } from './read-assertion.ts';
import { requireTelegram, TELEGRAM } from './telegram.ts';

/**
 * Binding a Telegram account. Both steps reject with `auth.method_disabled`, and with
 * `auth.identity_taken` for who has one already.
 */
export interface BindTelegram {
  /**
   * Rejects with `auth.session_required` as well. The widget comes back with the token in five
   * minutes.
   */
  begin(principal: PanelPrincipal): Promise<FlowTicket>;
  /**
   * The widget's return, in which nobody is signed in: user and session are those of the flow, and
   * are looked at again. Gives them, with the identity. Rejects with `auth.invalid_credentials` for
   * what is no fresh assertion of our bot, before anything is looked up; with `auth.flow_invalid`
   * and `auth.assertion_replayed`; as `BindIdentity` does. A refusal leaves flow and assertion
   * unused.
   */
  finish(
    flowToken: string,
    query: URLSearchParams,
    origin: RequestOrigin,
  ): Promise<{ principal: SessionPrincipal; subject: string }>;
}

export function createBindTelegram(deps: {
  store: Store;
  clock: Clock;
  settings: () => AuthSettings;
  flows: Flows;
  bindIdentity: BindIdentity;
}): BindTelegram {
  const { store, clock, settings, flows, bindIdentity } = deps;

  return {
    async begin(principal) {
      requireTelegram(settings());
      const session = requireSession(principal);
      const { user, sid } = session;
      await requireUnbound(store, user.id, TELEGRAM);
      const binding = { provider: TELEGRAM, intent: 'bind', userId: user.id, sessionId: sid };
      return flows.begin(store, 'telegram_bind', binding, rememberSession(session));
    },

    async finish(flowToken, query, origin) {
      const { botToken } = requireTelegram(settings());
      const read = readAssertion(query, botToken, clock.unix());
      if (!read.ok) throw authErrors.invalid_credentials({ cause: read.error });
      const { subject, text, expiresAt } = read.value;
      const principal = await bindIdentity({
        provider: TELEGRAM,
        subject,
        origin,
        consume: (tx) => flows.consume(tx, flowToken, 'telegram_bind', { provider: TELEGRAM, intent: 'bind' }),
        within: (tx) => flows.claimAssertion(tx, { provider: TELEGRAM, text, expiresAt }),
      });
      return { principal, subject };
    },
  };
}
