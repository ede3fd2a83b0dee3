import { constantTimeEqual } from '../../kernel/index.ts';
import type { SessionRecord } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { parseAuthorization } from '../parse-authorization.ts';
import type { AccessClaims } from '../tokens/panel-jwt.ts';
import type { RequestOrigin } from '../types.ts';
import { holdsSession } from './find-own-session.ts';
import { parseRefreshToken } from './refresh-tokens.ts';

export type LogoutRequest = {
  refreshToken: string | undefined;
  /** The `Authorization` header, if any; only an access token counts. */
  authorization: string | undefined;
  /** `X-Auth-Session` */
  expectedSid: string | undefined;
  origin: RequestOrigin;
};

export type LogoutResult = {
  /** The session that the access token named; `null` when only the cookie named one. */
  revokedSid: string | null;
  /** Whether to clear both cookies; a cookie that belongs to another session stays. */
  clearCookies: boolean;
};

/**
 * Ends the session of the access token, else that of the cookie (as in new-api). Idempotent: a
 * session that has already ended is fine.
 *
 * @throws `auth.session_mismatch` when the session that the client expects is neither; nothing is
 * changed then.
 */
export async function logOut(
  ctx: AuthContext,
  { refreshToken, authorization, expectedSid, origin }: LogoutRequest,
): Promise<LogoutResult> {
  const { store, clock, refreshTokens } = ctx;
  const cookie = parseRefreshToken(refreshToken);
  const isExpected = (sid: string) => expectedSid === undefined || constantTimeEqual(expectedSid, sid);
  if (cookie && !isExpected(cookie.sid)) throw authErrors.session_mismatch();

  const bearer = await readBearer(ctx, authorization);
  if (bearer) {
    if (!isExpected(bearer.sid)) throw authErrors.session_mismatch();
    const session = await store.sessions.bySid(bearer.sid);
    if (session) await end(ctx, session, origin);
    return { revokedSid: bearer.sid, clearCookies: cookie?.sid === bearer.sid };
  }

  if (cookie) {
    const session = await store.sessions.bySid(cookie.sid);
    // Any other secret gets the same answer and ends nothing: knowing a session's id is not enough
    // to sign it out.
    const holds = session && holdsSession(refreshTokens, { session, token: cookie, now: clock.unix() });
    if (holds) await end(ctx, session, origin);
  }
  return { revokedSid: null, clearCookies: true };
}

/** Checks only signature and time: a token whose session has ended may still sign out. */
async function readBearer(
  { accessTokens }: AuthContext,
  header: string | undefined,
): Promise<AccessClaims | undefined> {
  const credential = parseAuthorization(header);
  return credential === undefined ? undefined : accessTokens.verify(credential).catch(() => undefined);
}

async function end({ sessions, signIns }: AuthContext, session: SessionRecord, origin: RequestOrigin): Promise<void> {
  if (await sessions.end(session, 'logout')) await signIns.ended('auth.logout', { ...session, origin });
}
