import { type Clock, constantTimeEqual } from '../../kernel/index.ts';
import type { SessionRecord, Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { parseAuthorization, type RequestOrigin } from '../principals.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import type { AccessClaims } from '../tokens/panel-jwt.ts';
import { parseRefreshToken } from '../tokens/refresh-tokens.ts';
import type { SignIns } from './record-sign-ins.ts';
import { holdsSession } from './rotate-refresh.ts';
import type { SessionRegistry } from './session-registry.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  tokens: SessionTokens;
  sessions: SessionRegistry;
  signIns: SignIns;
};

export type SignOutRequest = {
  refreshToken: string | undefined;
  /** The `Authorization` header, if any; only an access token counts. */
  authorization: string | undefined;
  /** `X-Auth-Session` */
  expectedSid: string | undefined;
  origin: RequestOrigin;
};

export type SignOutResult = {
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
export async function signOut(
  ctx: Deps,
  { refreshToken, authorization, expectedSid, origin }: SignOutRequest,
): Promise<SignOutResult> {
  const { store, clock, tokens } = ctx;
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
    const holds = session && holdsSession(tokens.refresh, { session, token: cookie, now: clock.unix() });
    if (holds) await end(ctx, session, origin);
  }
  return { revokedSid: null, clearCookies: true };
}

/** Checks only signature and time: a token whose session has ended may still sign out. */
async function readBearer(
  { tokens }: { tokens: SessionTokens },
  header: string | undefined,
): Promise<AccessClaims | undefined> {
  const credential = parseAuthorization(header);
  return credential === undefined ? undefined : tokens.access.verify(credential).catch(() => undefined);
}

async function end(
  { sessions, signIns }: { sessions: SessionRegistry; signIns: SignIns },
  session: SessionRecord,
  origin: RequestOrigin,
): Promise<void> {
  if (await sessions.end(session, 'logout')) await signIns.ended('auth.logout', { ...session, origin });
}
