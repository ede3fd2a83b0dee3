import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import type { FlowTicket } from '../flows/flows.ts';
import { requireSession, type SessionPrincipal } from '../require-session.ts';
import { rememberSession } from '../sessions/recheck-session.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import { bindIdentity, requireUnbound } from '../users/bind-identity.ts';
import { readAssertion } from './read-assertion.ts';
import { requireTelegram, TELEGRAM } from './telegram.ts';

export type TelegramBinding = { flowToken: string; query: URLSearchParams; origin: RequestOrigin };

/**
 * Begins the binding of a Telegram account. The widget must return with the token within five
 * minutes.
 *
 * @throws `auth.method_disabled`, `auth.session_required`, or `auth.identity_taken` for an account
 * that has a Telegram identity already.
 */
export async function beginTelegramBinding(ctx: AuthContext, principal: PanelPrincipal): Promise<FlowTicket> {
  const { store, settings, flows } = ctx;
  requireTelegram(settings());
  const session = requireSession(principal);
  const { user, sid } = session;
  await requireUnbound(store, user.id, TELEGRAM);
  const binding = { provider: TELEGRAM, intent: 'bind', userId: user.id, sessionId: sid };
  return flows.begin(store, { purpose: 'telegram_bind', binding, payload: rememberSession(session) });
}

/**
 * Handles the widget's return, a request without credentials: user and session come from the flow
 * and are checked again. Gives both, and the identity. A refusal leaves flow and assertion unused.
 *
 * @throws `auth.method_disabled`; `auth.invalid_credentials` for anything but a fresh assertion of
 * our bot, before any lookup; `auth.flow_invalid`; `auth.assertion_replayed`; what `bindIdentity`
 * throws.
 */
export async function finishTelegramBinding(
  ctx: AuthContext,
  { flowToken, query, origin }: TelegramBinding,
): Promise<{ principal: SessionPrincipal; subject: string }> {
  const { clock, settings, flows } = ctx;
  const { botToken } = requireTelegram(settings());
  const read = readAssertion(query, botToken, clock.unix());
  if (!read.ok) throw authErrors.invalid_credentials({ cause: read.error });
  const { subject, text, expiresAt } = read.value;
  const flow = {
    token: flowToken,
    purpose: 'telegram_bind',
    binding: { provider: TELEGRAM, intent: 'bind' },
  } as const;
  const principal = await bindIdentity(ctx, {
    provider: TELEGRAM,
    subject,
    origin,
    consume: (tx) => flows.consume(tx, flow),
    within: (tx) => flows.claimAssertion(tx, { provider: TELEGRAM, text, expiresAt }),
  });
  return { principal, subject };
}
