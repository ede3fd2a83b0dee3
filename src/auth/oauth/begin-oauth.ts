import { createHash } from 'node:crypto';
import { isObject, type JsonObject, parseJson, randomToken, type SecretBox } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { type PanelPrincipal, requireSession } from '../principals.ts';
import { rememberSession } from '../sessions/check-session.ts';
import type { FlowBinding, Flows, FlowTicket } from '../tokens/flows.ts';
import { requireUnbound } from './bind-identity.ts';
import type { FindProvider } from './find-provider.ts';

/** What the operations of this file use. */
type Deps = {
  store: Store;
  secretBox: SecretBox;
  settings: () => AuthSettings;
  flows: Flows;
  findProvider: FindProvider;
};

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
  ctx: Deps,
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

/** The secrets of an authorization request that the server keeps until the answer comes back. */
export type FlowSecrets = {
  /** PKCE */
  codeVerifier: string;
  nonce: string;
  /** As in the request: the token endpoint must get the same value. */
  redirectUri: string;
  /** The affiliate code for a new account; empty: none. */
  affCode: string;
};

/** Sealed for the flow's row, so that a reader of the database cannot complete a login. */
const sealSecrets = (box: SecretBox, secrets: FlowSecrets): JsonObject => ({
  sealed: box.seal(JSON.stringify(secrets)),
});

/** @throws `auth.flow_invalid` when no `CRYPTO_SECRET` opens them. */
export function openSecrets(box: SecretBox, payload: JsonObject): FlowSecrets {
  const opened = parseJson(box.open(String(payload.sealed)) ?? '');
  if (!isObject(opened)) throw authErrors.flow_invalid();
  const { codeVerifier, nonce, redirectUri, affCode } = opened;
  return {
    codeVerifier: String(codeVerifier),
    nonce: String(nonce),
    redirectUri: String(redirectUri),
    affCode: String(affCode),
  };
}
