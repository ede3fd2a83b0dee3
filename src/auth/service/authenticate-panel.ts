import { AppError } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { authenticatePersonalToken } from '../own-account/personal-token.ts';
import { type PanelPrincipal, parseAuthorization } from '../principals.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import { claimsToBeOurs } from '../tokens/panel-jwt.ts';

type Deps = { store: Store; tokens: SessionTokens; sessions: SessionRegistry };

/**
 * Authenticates a request to a panel route. An access token is checked against its session and its
 * user at every request, a personal access token against the store.
 *
 * @throws `auth.unauthorized`, `auth.token_expired`, `auth.session_revoked`, or
 * `auth.user_disabled` for the personal access token of a disabled user.
 */
export async function authenticatePanel(ctx: Deps, authorization: string | undefined): Promise<PanelPrincipal> {
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
  ctx: Deps,
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

async function authenticateSession(
  { tokens, sessions }: Pick<Deps, 'tokens' | 'sessions'>,
  token: string,
): Promise<PanelPrincipal> {
  const claims = await tokens.access.verify(token);
  const user = await sessions.check(claims);
  if (!user) throw authErrors.session_revoked();
  return { kind: 'session', user, sid: claims.sid, sessionVersion: claims.sessionVersion };
}
