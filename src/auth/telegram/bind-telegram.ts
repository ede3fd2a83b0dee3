import type { Clock, Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { Flows, FlowTicket } from '../flows/flows.ts';
import { requireSession, type SessionPrincipal } from '../require-session.ts';
import { recheckSession, rememberSession } from '../sessions/origin-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { readAssertion } from './read-assertion.ts';
import { requireTelegram, TELEGRAM } from './telegram.ts';

/** Binding a Telegram account. Both steps reject with `auth.method_disabled`, and with `auth.identity_taken` for who has one already. */
export interface BindTelegram {
  /** Rejects with `auth.session_required` as well. The widget comes back with the token in five minutes. */
  begin(principal: PanelPrincipal): Promise<FlowTicket>;
  /**
   * The widget's return, in which nobody is signed in: user and session are those of the flow, and are looked at again. Gives them,
   * with the identity. Rejects with `auth.invalid_credentials` for what is no fresh assertion of our bot, before anything is looked
   * up; `auth.flow_invalid`; `auth.assertion_replayed`; `auth.identity_taken`; `auth.user_not_found`, `auth.user_disabled`,
   * `auth.session_revoked`. Whatever is refused leaves flow and assertion unused.
   */
  finish(flowToken: string, query: URLSearchParams): Promise<{ principal: SessionPrincipal; subject: string }>;
}

export function createBindTelegram(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: Pick<AuthConfig, 'sessionIdleSeconds'>;
  settings: () => AuthSettings;
  flows: Flows;
}): BindTelegram {
  const { store, clock, logger, config, settings, flows } = deps;

  return {
    async begin(principal) {
      requireTelegram(settings());
      const session = requireSession(principal);
      const { user, sid } = session;
      if ((await store.identities.list(user.id)).some(({ provider }) => provider === TELEGRAM)) throw boundAlready();
      const binding = { provider: TELEGRAM, intent: 'bind', userId: user.id, sessionId: sid };
      return flows.begin(store, 'telegram_bind', binding, rememberSession(session));
    },

    async finish(flowToken, query) {
      const { botToken } = requireTelegram(settings());
      const now = clock.unix();
      const read = readAssertion(query, botToken, now);
      if (!read.ok) throw authErrors.invalid_credentials({ cause: read.error });
      const { subject, text, expiresAt } = read.value;

      const bound = await store.transaction(async (tx) => {
        const flow = await flows.consume(tx, flowToken, 'telegram_bind', { provider: TELEGRAM, intent: 'bind' });
        const had = await tx.identities.list(flow.userId);
        // The claim holds the user's row, so that what is read of him afterwards stays true until it is committed.
        const verdict = await tx.identities.claim({ provider: TELEGRAM, subject, userId: flow.userId, createdAt: now });
        const principal = await recheckSession(tx, flow, { now, idleSeconds: config.sessionIdleSeconds });
        if (had.some(({ provider }) => provider === TELEGRAM)) throw boundAlready();
        if (verdict !== 'ok') throw authErrors.identity_taken();
        await flows.claimAssertion(tx, { provider: TELEGRAM, text, expiresAt });
        return { principal, subject };
      });
      const { user, sid } = bound.principal;
      logger.info({ userId: user.id, sid, provider: TELEGRAM }, 'identity bound');
      return bound;
    },
  };
}

const boundAlready = () =>
  authErrors.identity_taken({ message: 'A Telegram account is bound to this account already. Unbind it first.' });
