import type { Clock } from '../kernel/index.ts';
import type { Store } from '../store/ports/index.ts';
import { authErrors } from './errors.ts';
import { parseAuthorization } from './parse-authorization.ts';
import { isLive, stillTrusts } from './sessions/check-session.ts';
import type { AccessTokens } from './tokens/access-tokens.ts';
import { claimsToBeOurs } from './tokens/panel-jwt.ts';
import type { PanelPrincipal } from './types.ts';

/**
 * Who speaks on a panel route. An access token is checked against its session and user in the store at every request.
 * Rejects with `auth.unauthorized`, `auth.token_expired` or `auth.session_revoked`.
 */
export function createAuthenticatePanel(deps: {
  store: Store;
  clock: Clock;
  accessTokens: AccessTokens;
}): (authorization: string | undefined) => Promise<PanelPrincipal> {
  const { store, clock, accessTokens } = deps;

  async function authenticateSession(token: string): Promise<PanelPrincipal> {
    const claims = await accessTokens.verify(token);
    const [session, user] = await Promise.all([store.sessions.bySid(claims.sid), store.users.byId(claims.userId)]);
    const holds =
      session !== undefined &&
      isLive(session, clock.unix()) &&
      session.userId === claims.userId &&
      session.version === claims.sessionVersion &&
      session.userAuthVersion === claims.userAuthVersion &&
      stillTrusts(user, session);
    if (!holds) throw authErrors.session_revoked();
    return { kind: 'session', user, sid: session.sid, sessionVersion: session.version };
  }

  return async (authorization) => {
    const credential = parseAuthorization(authorization);
    if (credential === undefined) throw authErrors.unauthorized();
    // A string that claims to be one of our JWTs is judged as one, whatever comes out: it never becomes another credential.
    if (claimsToBeOurs(credential)) return authenticateSession(credential);
    // Everything else could only be a personal access token, and no account has one.
    throw authErrors.unauthorized();
  };
}
