import { isOver } from '../../kernel/index.ts';
import type { SessionRecord } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { isIdle, isLive, isStillTrusted } from './check-session.ts';
import { parseRefreshToken, type RefreshToken, type RefreshTokens } from './refresh-tokens.ts';

/**
 * The id of the live session of a refresh token, if it belongs to the account with this `login`
 * name. The token is compared in constant time and not rotated.
 */
export async function findOwnSession(
  { store, clock, config, refreshTokens }: AuthContext,
  { refreshToken, login }: { refreshToken: string | undefined; login: string },
): Promise<string | undefined> {
  const token = parseRefreshToken(refreshToken);
  if (!token) return undefined;
  const session = await store.sessions.bySid(token.sid);
  const now = clock.unix();
  if (!session || !isLive(session, now) || isIdle(session, config.sessionIdleSeconds, now)) return undefined;
  if (!holdsSession(refreshTokens, { session, token, now })) return undefined;
  return isStillTrusted(await store.users.byLogin(login), session) ? session.sid : undefined;
}

/**
 * Seconds in which a rotated token still yields its successor: for a lost answer or a second tab
 * (as in new-api).
 */
export const REPLAY_WINDOW_SECONDS = 30;

/** Whether the session's previous token still yields its successor. */
export const acceptsPrevious = ({ previousValidUntil }: SessionRecord, now: number): boolean =>
  !isOver(previousValidUntil + 1, { now, longest: REPLAY_WINDOW_SECONDS });

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
