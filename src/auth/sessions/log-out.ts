import { type Clock, constantTimeEqual } from '../../kernel/index.ts';
import type { SessionRecord, Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { parseAuthorization } from '../parse-authorization.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import type { AccessClaims, AccessTokens } from '../tokens/access-tokens.ts';
import type { RequestOrigin } from '../types.ts';
import { holdsSession } from './find-own-session.ts';
import { parseRefreshToken, type RefreshTokens } from './refresh-tokens.ts';
import type { SessionGate } from './session-gate.ts';

export type LogoutRequest = {
  refreshToken: string | undefined;
  /** The `Authorization` header, if any; only an access token counts. */
  authorization: string | undefined;
  /** `X-Auth-Session` */
  expectedSid: string | undefined;
  origin: RequestOrigin;
};

export type LogoutResult = {
  /** The session that the access token named; `null` when the cookie alone spoke. */
  revokedSid: string | null;
  /** Whether both cookies are to be cleared; a cookie that belongs to another session stays. */
  clearCookies: boolean;
};

/**
 * Ends the session of the access token, or else of the cookie (as in new-api). Idempotent: a
 * session that has ended already is fine. Rejects with `auth.session_mismatch` when the session
 * that the client names is neither; then nothing is changed.
 */
export function createLogOut(deps: {
  store: Store;
  clock: Clock;
  accessTokens: AccessTokens;
  refreshTokens: RefreshTokens;
  sessions: SessionGate;
  signIns: SignIns;
}): (request: LogoutRequest) => Promise<LogoutResult> {
  const { store, clock, accessTokens, refreshTokens, sessions, signIns } = deps;

  /** Its signature and time alone count: a token whose session has ended may still sign out. */
  async function readBearer(header: string | undefined): Promise<AccessClaims | undefined> {
    const credential = parseAuthorization(header);
    return credential === undefined ? undefined : accessTokens.verify(credential).catch(() => undefined);
  }

  async function end(session: SessionRecord, origin: RequestOrigin): Promise<void> {
    if (await sessions.end(session, 'logout')) await signIns.ended('auth.logout', { ...session, origin });
  }

  return async ({ refreshToken, authorization, expectedSid, origin }) => {
    const cookie = parseRefreshToken(refreshToken);
    const names = (sid: string) => expectedSid === undefined || constantTimeEqual(expectedSid, sid);
    if (cookie && !names(cookie.sid)) throw authErrors.session_mismatch();

    const bearer = await readBearer(authorization);
    if (bearer) {
      if (!names(bearer.sid)) throw authErrors.session_mismatch();
      const session = await store.sessions.bySid(bearer.sid);
      if (session) await end(session, origin);
      return { revokedSid: bearer.sid, clearCookies: cookie?.sid === bearer.sid };
    }

    if (cookie) {
      const session = await store.sessions.bySid(cookie.sid);
      // Any other secret is answered alike and ends nothing: knowing a session's id is not enough
      // to sign it out.
      const holds = session && holdsSession(refreshTokens, { session, token: cookie, now: clock.unix() });
      if (holds) await end(session, origin);
    }
    return { revokedSid: null, clearCookies: true };
  };
}
