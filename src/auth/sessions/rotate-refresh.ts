import type { Clock, Logger } from '../../kernel/index.ts';
import type { SessionRecord, Store } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import type { AccessTokens } from '../tokens/access-tokens.ts';
import type { RequestOrigin } from '../types.ts';
import { isIdle, isLive, isStillTrusted } from './check-session.ts';
import { bundleLogin, type SignedIn } from './describe-session.ts';
import { clipOrigin } from './issue-session.ts';
import { formatRefreshToken, parseRefreshToken, type RefreshToken, type RefreshTokens } from './refresh-tokens.ts';
import type { SessionGate } from './session-gate.ts';

export type RefreshRequest = {
  /** The refresh cookie's value. */
  refreshToken: string | undefined;
  /** `X-Auth-Session`: the session that the client believes to be in. */
  expectedSid: string | undefined;
  origin: RequestOrigin;
};

/**
 * Seconds in which a rotated token still gives its successor: a lost answer, a second tab (as in
 * new-api).
 */
const REPLAY_WINDOW_SECONDS = 30;
/**
 * A lost race is decided by the second reading; the third is for a token that was rotated twice
 * meanwhile.
 */
const ATTEMPTS = 3;

/**
 * Swaps the refresh token for its successor and gives a new access token. Concurrent uses of one
 * token make one rotation and all get the same successor.
 *
 * Rejects with `auth.unauthorized` (missing, malformed, unknown or older token; the session is
 * untouched), `auth.session_mismatch` (nothing was looked at or changed), `auth.session_revoked`
 * (the session has ended, or ends now because its user changed, it was idle for too long or a used
 * token came back after the window), `auth.refresh_race` (nothing changed, try again). After the
 * first and the third the cookies are to be cleared.
 */
export function createRotateRefresh(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: Pick<AuthConfig, 'sessionIdleSeconds'>;
  accessTokens: AccessTokens;
  refreshTokens: RefreshTokens;
  sessions: SessionGate;
  signIns: SignIns;
}): (request: RefreshRequest) => Promise<SignedIn> {
  const { store, clock, logger, config, refreshTokens, sessions, signIns } = deps;

  async function revoke(session: SessionRecord, reason: string): Promise<never> {
    await sessions.end(session, reason);
    logger.warn({ sid: session.sid, userId: session.userId, reason }, 'session revoked at refresh');
    throw authErrors.session_revoked();
  }

  async function refuseReuse(session: SessionRecord, origin: RequestOrigin): Promise<never> {
    if (await sessions.end(session, 'refresh_reuse')) await signIns.ended('auth.refresh_reuse', { ...session, origin });
    logger.warn({ sid: session.sid, userId: session.userId, reason: 'refresh_reuse' }, 'session revoked at refresh');
    throw authErrors.session_revoked();
  }

  /**
   * The token to hand out and the session as stored with it; `undefined` when another rotation came
   * in between.
   */
  async function rotate(
    session: SessionRecord,
    token: RefreshToken,
    origin: RequestOrigin,
  ): Promise<{ session: SessionRecord; next: RefreshToken } | undefined> {
    const now = clock.unix();
    const next = refreshTokens.successor(token);
    const seen = clipOrigin(origin);
    const rotated = await store.sessions.rotate({
      sid: session.sid,
      expectedHash: session.refreshHash,
      newHash: next.hash,
      previousValidUntil: now + REPLAY_WINDOW_SECONDS,
      ...seen,
      now,
    });
    return rotated ? { session: { ...session, ...seen, lastActiveAt: now }, next } : undefined;
  }

  async function decide(token: RefreshToken, origin: RequestOrigin): Promise<SignedIn | undefined> {
    const session = await store.sessions.bySid(token.sid);
    const generation = session && refreshTokens.generation(session, token.secret);
    // Whoever does not hold the session's token learns nothing about it and changes nothing in it.
    if (!session || generation === 'unknown') throw authErrors.unauthorized();
    if (!isLive(session, clock.unix())) throw authErrors.session_revoked();
    if (isIdle(session, config.sessionIdleSeconds, clock.unix())) return revoke(session, 'idle');
    const user = await store.users.byId(session.userId);
    if (!isStillTrusted(user, session)) {
      // The user's own change may have been committed between the two readings, and this session
      // may be the one that goes on.
      const again = await store.sessions.bySid(session.sid);
      if (again?.version !== session.version) return undefined;
      return revoke(session, 'user_security_changed');
    }

    let result: { session: SessionRecord; next: RefreshToken } | undefined;
    if (generation === 'current') {
      result = await rotate(session, token, origin);
      if (!result) return undefined;
    } else {
      if (clock.unix() > session.previousValidUntil) return refuseReuse(session, origin);
      const next = refreshTokens.takenSuccessor(session, token);
      if (!next) throw authErrors.refresh_race();
      result = { session, next };
    }
    return {
      kind: 'session',
      bundle: await bundleLogin(deps, result.session, user),
      refreshToken: formatRefreshToken(result.next),
      refreshExpiresAt: session.expiresAt,
    };
  }

  return async (request) => {
    const token = parseRefreshToken(request.refreshToken);
    if (!token) throw authErrors.unauthorized();
    if (request.expectedSid !== undefined && request.expectedSid !== token.sid) throw authErrors.session_mismatch();
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const signedIn = await decide(token, request.origin);
      if (signedIn) return signedIn;
    }
    throw authErrors.refresh_race();
  };
}
