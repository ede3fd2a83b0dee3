import { createHash } from 'node:crypto';
import { randomToken, type SecretBox } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { FlowBinding, Flows, FlowTicket } from '../flows/flows.ts';
import { requireSession } from '../require-session.ts';
import { rememberSession } from '../sessions/origin-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { requireUnbound } from '../users/bind-identity.ts';
import type { FindProvider } from './find-provider.ts';
import { sealSecrets } from './flow-secrets.ts';

export type OAuthRequest = {
  /** Whoever asks, where somebody does. */
  principal: PanelPrincipal | undefined;
  provider: string;
  intent: 'login' | 'bind';
  /** An affiliate code, for the account that a login may make. */
  affCode: string;
};

export type OAuthTicket = FlowTicket & {
  /** Where the browser goes; the flow token is its `state`. */
  authorization_url: string;
};

/** RFC 7636 4.1: 43 to 128 characters; 32 bytes are 43. */
const VERIFIER_BYTES = 32;
const NONCE_BYTES = 32;

/**
 * The first step at a provider. Rejects with `auth.method_disabled`, `auth.provider_failed`, and
 * for a binding with `auth.unauthorized`, `auth.session_required`, or `auth.identity_taken` for who
 * has one of this provider.
 */
export function createBeginOAuth(deps: {
  store: Store;
  secretBox: SecretBox;
  settings: () => AuthSettings;
  flows: Flows;
  findProvider: FindProvider;
}): (request: OAuthRequest) => Promise<OAuthTicket> {
  const { store, secretBox, settings, flows, findProvider } = deps;

  return async ({ principal, provider: slug, intent, affCode }) => {
    const session = intent === 'bind' ? requireCaller(principal) : undefined;
    const provider = await findProvider(slug);
    if (session) await requireUnbound(store, session.user.id, slug);
    const codeVerifier = randomToken(VERIFIER_BYTES);
    const nonce = randomToken(NONCE_BYTES);
    // Each provider answers to an address of its own, so that no answer passes for another one's.
    const redirectUri = `${settings().serverAddress}/oauth/${slug}`;
    const binding: FlowBinding = session
      ? { provider: slug, intent, userId: session.user.id, sessionId: session.sid }
      : { provider: slug, intent };
    const secrets = { codeVerifier, nonce, redirectUri, affCode: session ? '' : affCode };
    const ticket = await flows.begin(store, 'oauth', binding, {
      ...sealSecrets(secretBox, secrets),
      ...(session ? rememberSession(session) : {}),
    });
    const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url');
    const request = { redirectUri, state: ticket.flow_token, codeChallenge, nonce };
    return { ...ticket, authorization_url: await provider.authorizationUrl(request) };
  };
}

function requireCaller(principal: PanelPrincipal | undefined) {
  if (!principal) throw authErrors.unauthorized();
  return requireSession(principal);
}
