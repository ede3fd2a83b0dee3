import { AppError } from '../kernel/index.ts';
import type { Store } from '../store/ports/index.ts';
import { authErrors } from './errors.ts';
import { parseAuthorization } from './parse-authorization.ts';
import { createAuthenticatePersonalToken } from './personal-tokens/authenticate-personal-token.ts';
import type { SessionGate } from './sessions/session-gate.ts';
import type { AccessTokens } from './tokens/access-tokens.ts';
import { claimsToBeOurs } from './tokens/panel-jwt.ts';
import type { PanelPrincipal } from './types.ts';

/**
 * Who speaks on a panel route. An access token is checked against its session and its user at every
 * request, a personal access token against the store. Rejects with `auth.unauthorized`,
 * `auth.token_expired`, `auth.session_revoked`, or for the personal access token of a disabled user
 * with `auth.user_disabled`.
 */
export function createAuthenticatePanel(deps: {
  store: Store;
  accessTokens: AccessTokens;
  sessions: SessionGate;
}): (authorization: string | undefined) => Promise<PanelPrincipal> {
  const { accessTokens, sessions } = deps;
  const authenticatePersonalToken = createAuthenticatePersonalToken(deps);

  async function authenticateSession(token: string): Promise<PanelPrincipal> {
    const claims = await accessTokens.verify(token);
    const user = await sessions.check(claims);
    if (!user) throw authErrors.session_revoked();
    return { kind: 'session', user, sid: claims.sid, sessionVersion: claims.sessionVersion };
  }

  return async (authorization) => {
    const credential = parseAuthorization(authorization);
    if (credential === undefined) throw authErrors.unauthorized();
    // A string that claims to be one of our JWTs is judged as one, whatever comes out: it never
    // becomes another credential.
    if (claimsToBeOurs(credential)) return authenticateSession(credential);
    return { kind: 'pat', user: await authenticatePersonalToken(credential) };
  };
}

/**
 * Who speaks on a route where nobody has to. What claims to be one of our JWTs is judged as one,
 * and a personal access token that is known is judged too; everything else is nobody's.
 */
export function createAuthenticateOptional(
  authenticatePanel: (authorization: string | undefined) => Promise<PanelPrincipal>,
): (authorization: string | undefined) => Promise<PanelPrincipal | undefined> {
  return async (authorization) => {
    const credential = parseAuthorization(authorization);
    if (credential === undefined) return undefined;
    if (claimsToBeOurs(credential)) return authenticatePanel(authorization);
    try {
      return await authenticatePanel(authorization);
    } catch (error) {
      if (error instanceof AppError && error.code === 'auth.unauthorized') return undefined;
      throw error;
    }
  };
}
