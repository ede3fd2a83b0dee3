import { AppError } from '../kernel/index.ts';
import type { AuthContext } from './context.ts';
import { authErrors } from './errors.ts';
import { parseAuthorization } from './parse-authorization.ts';
import { authenticatePersonalToken } from './personal-tokens/authenticate-personal-token.ts';
import { claimsToBeOurs } from './tokens/panel-jwt.ts';
import type { PanelPrincipal } from './types.ts';

/**
 * Authenticates a request to a panel route. An access token is checked against its session and its
 * user at every request, a personal access token against the store.
 *
 * @throws `auth.unauthorized`, `auth.token_expired`, `auth.session_revoked`, or
 * `auth.user_disabled` for the personal access token of a disabled user.
 */
export async function authenticatePanel(ctx: AuthContext, authorization: string | undefined): Promise<PanelPrincipal> {
  const credential = parseAuthorization(authorization);
  if (credential === undefined) throw authErrors.unauthorized();
  // A string that claims to be one of our JWTs is checked as a JWT only: it is never tried as
  // another kind of credential.
  if (claimsToBeOurs(credential)) return authenticateSession(ctx, credential);
  return { kind: 'pat', ...(await authenticatePersonalToken(ctx, credential)) };
}

/**
 * Authenticates where credentials are optional. A string that claims to be one of our JWTs must be
 * valid, and a known personal access token must belong to an enabled user. Anything else counts as
 * anonymous (`undefined`).
 */
export async function authenticateOptional(
  ctx: AuthContext,
  authorization: string | undefined,
): Promise<PanelPrincipal | undefined> {
  const credential = parseAuthorization(authorization);
  if (credential === undefined) return undefined;
  if (claimsToBeOurs(credential)) return authenticatePanel(ctx, authorization);
  try {
    return await authenticatePanel(ctx, authorization);
  } catch (error) {
    if (error instanceof AppError && error.code === 'auth.unauthorized') return undefined;
    throw error;
  }
}

async function authenticateSession({ accessTokens, sessions }: AuthContext, token: string): Promise<PanelPrincipal> {
  const claims = await accessTokens.verify(token);
  const user = await sessions.check(claims);
  if (!user) throw authErrors.session_revoked();
  return { kind: 'session', user, sid: claims.sid, sessionVersion: claims.sessionVersion };
}
