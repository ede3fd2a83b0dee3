import { type Clock, isOver, type Logger } from '../../kernel/index.ts';
import type { SessionRecord, Store } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { RequestOrigin } from '../principals.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import {
  formatRefreshToken,
  parseRefreshToken,
  type RefreshToken,
  type RefreshTokens,
} from '../tokens/refresh-tokens.ts';
import { isIdle, isLive, isStillTrusted } from './check-session.ts';
import { describeSignIn, type SignedIn } from './describe-session.ts';
import { clipOrigin } from './issue-session.ts';
import type { SignIns } from './record-sign-ins.ts';
import type { SessionRegistry } from './session-registry.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: AuthConfig;
  tokens: SessionTokens;
  sessions: SessionRegistry;
  signIns: SignIns;
};

/**
 * Seconds in which a rotated token still yields its successor: for a lost answer or a second tab
 * (as in new-api).
 */
const REPLAY_WINDOW_SECONDS = 30;

/** Whether the session's previous token still yields its successor. */
const acceptsPrevious = ({ previousValidUntil }: SessionRecord, now: number): boolean =>
  !isOver(previousValidUntil + 1, { now, longest: REPLAY_WINDOW_SECONDS });

export type RefreshRequest = {
  /** The refresh cookie's value. */
  refreshToken: string | undefined;
  /** `X-Auth-Session`: the session that the client expects to be in. */
  expectedSid: string | undefined;
  origin: RequestOrigin;
};

/**
 * The second attempt decides a lost race; the third is for a token that was rotated twice in
 * between.
 */
const ATTEMPTS = 3;

/**
 * Swaps the refresh token for its successor and signs a new access token. Concurrent uses of one
 * token make one rotation, and all get the same successor.
 *
 * @throws `auth.unauthorized`: missing, malformed, unknown or older token; the session is
 * untouched; clear the cookies.
 * @throws `auth.session_mismatch`: not the expected session; nothing was read or changed.
 * @throws `auth.session_revoked`: the session has ended, or ends now because its user changed, it
 * was idle for too long, or a used token came back after the window; clear the cookies.
 * @throws `auth.refresh_race`: nothing changed, try again.
 */
export async function rotateRefresh(ctx: Deps, request: RefreshRequest): Promise<SignedIn> {
  const token = parseRefreshToken(request.refreshToken);
  if (!token) throw authErrors.unauthorized();
  if (request.expectedSid !== undefined && request.expectedSid !== token.sid) throw authErrors.session_mismatch();
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const signedIn = await tryRotation(ctx, token, request.origin);
    if (signedIn) return signedIn;
  }
  throw authErrors.refresh_race();
}

/** `undefined` when another rotation or security change came in between: read again. */
async function tryRotation(ctx: Deps, token: RefreshToken, origin: RequestOrigin): Promise<SignedIn | undefined> {
  const { store, clock, config, tokens } = ctx;
  const found = await store.sessions.withUser(token.sid);
  const session = found?.session ?? (await store.sessions.bySid(token.sid));
  const generation = session && tokens.refresh.generation(session, token.secret);
  // A caller without the session's token learns nothing about it and changes nothing in it.
  if (!session || generation === 'unknown') throw authErrors.unauthorized();
  if (!isLive(session, clock.unix())) throw authErrors.session_revoked();
  if (isIdle(session, config.sessionIdleSeconds, clock.unix())) return revoke(ctx, session, 'idle');
  // Both as of one moment: the user's own security change carries its session over.
  const user = found?.user;
  if (!isStillTrusted(user, session)) return revoke(ctx, session, 'user_security_changed');

  let result: { session: SessionRecord; next: RefreshToken } | undefined;
  if (generation === 'current') {
    result = await rotate(ctx, session, { token, origin });
    if (!result) return undefined;
  } else {
    if (!acceptsPrevious(session, clock.unix())) return refuseReuse(ctx, session, origin);
    const next = tokens.refresh.takenSuccessor(session, token);
    if (!next) throw authErrors.refresh_race();
    result = { session, next };
  }
  return {
    kind: 'session',
    bundle: await describeSignIn(ctx, result.session, user),
    refreshToken: formatRefreshToken(result.next),
    refreshExpiresAt: session.expiresAt,
  };
}

/** The next token and the session as stored now; `undefined` when another change was first. */
async function rotate(
  { store, clock, tokens }: { store: Store; clock: Clock; tokens: SessionTokens },
  session: SessionRecord,
  { token, origin }: { token: RefreshToken; origin: RequestOrigin },
): Promise<{ session: SessionRecord; next: RefreshToken } | undefined> {
  const now = clock.unix();
  const next = tokens.refresh.successor(token);
  const clipped = clipOrigin(origin);
  const rotated = await store.sessions.rotate({
    sid: session.sid,
    expectedHash: session.refreshHash,
    // The access token is signed with these: after a change in between it would be refused.
    expectedVersion: session.version,
    expectedUserAuthVersion: session.userAuthVersion,
    newHash: next.hash,
    previousValidUntil: now + REPLAY_WINDOW_SECONDS,
    ...clipped,
    now,
  });
  return rotated ? { session: { ...session, ...clipped, lastActiveAt: now }, next } : undefined;
}

async function revoke(
  { sessions, logger }: { logger: Logger; sessions: SessionRegistry },
  session: SessionRecord,
  reason: string,
): Promise<never> {
  await sessions.end(session, reason);
  logger.warn({ sid: session.sid, userId: session.userId, reason }, 'session revoked at refresh');
  throw authErrors.session_revoked();
}

async function refuseReuse(
  { sessions, signIns, logger }: { logger: Logger; sessions: SessionRegistry; signIns: SignIns },
  session: SessionRecord,
  origin: RequestOrigin,
): Promise<never> {
  if (await sessions.end(session, 'refresh_reuse')) await signIns.ended('auth.refresh_reuse', { ...session, origin });
  logger.warn({ sid: session.sid, userId: session.userId, reason: 'refresh_reuse' }, 'session revoked at refresh');
  throw authErrors.session_revoked();
}

/**
 * Whether a token is the session's current one, or the previous one within the seconds in which it
 * still yields its successor.
 */
export function holdsSession(
  refreshTokens: RefreshTokens,
  { session, token, now }: { session: SessionRecord; token: RefreshToken; now: number },
): boolean {
  const generation = refreshTokens.generation(session, token.secret);
  return generation === 'current' || (generation === 'previous' && acceptsPrevious(session, now));
}
