import { createHash } from 'node:crypto';
import { randomToken } from '../../kernel/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import type { FlowBinding, FlowTicket } from '../flows/flows.ts';
import { requireSession } from '../require-session.ts';
import { rememberSession } from '../sessions/recheck-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { requireUnbound } from '../users/bind-identity.ts';
import { sealSecrets } from './flow-secrets.ts';

export type OAuthRequest = {
  /** The caller, if authenticated. */
  principal: PanelPrincipal | undefined;
  provider: string;
  intent: 'login' | 'bind';
  /** An affiliate code, for the account that a login may create. */
  affCode: string;
};

export type OAuthTicket = FlowTicket & {
  /** Where to send the browser; the flow token is its `state`. */
  authorization_url: string;
};

/** RFC 7636 4.1: 43 to 128 characters; 32 bytes give 43. */
const VERIFIER_BYTES = 32;
const NONCE_BYTES = 32;

/**
 * The first step of a sign-in or binding at a provider.
 *
 * @throws `auth.method_disabled`, `auth.provider_failed`; for a binding also `auth.unauthorized`,
 * `auth.session_required`, or `auth.identity_taken` for a user who has an identity of this provider
 * already.
 */
export async function beginOAuth(
  ctx: AuthContext,
  { principal, provider: slug, intent, affCode }: OAuthRequest,
): Promise<OAuthTicket> {
  const { store, secretBox, settings, flows, findProvider } = ctx;
  const session = intent === 'bind' ? requireCaller(principal) : undefined;
  const provider = await findProvider(slug);
  if (session) await requireUnbound(store, session.user.id, slug);
  const codeVerifier = randomToken(VERIFIER_BYTES);
  const nonce = randomToken(NONCE_BYTES);
  // Each provider has its own redirect address, so that no provider's answer passes for another's.
  const redirectUri = `${settings().serverAddress}/oauth/${slug}`;
  const binding: FlowBinding = session
    ? { provider: slug, intent, userId: session.user.id, sessionId: session.sid }
    : { provider: slug, intent };
  const secrets = { codeVerifier, nonce, redirectUri, affCode: session ? '' : affCode };
  const payload = { ...sealSecrets(secretBox, secrets), ...(session ? rememberSession(session) : {}) };
  const ticket = await flows.begin(store, { purpose: 'oauth', binding, payload });
  const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url');
  const request = { redirectUri, state: ticket.flow_token, codeChallenge, nonce };
  return { ...ticket, authorization_url: await provider.authorizationUrl(request) };
}

function requireCaller(principal: PanelPrincipal | undefined) {
  if (!principal) throw authErrors.unauthorized();
  return requireSession(principal);
}
