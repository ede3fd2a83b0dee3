import type { Clock } from '../../kernel/index.ts';
import type { SessionRecord, Store } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { isIdle, isLive, isStillTrusted } from './check-session.ts';
import { parseRefreshToken, type RefreshToken, type RefreshTokens } from './refresh-tokens.ts';

/**
 * The id of the live session that a browser's refresh token belongs to, if it is one of the account
 * that is called `login`. The token is compared in constant time and not rotated.
 */
export type FindOwnSession = (refreshToken: string | undefined, login: string) => Promise<string | undefined>;

export function createFindOwnSession(deps: {
  store: Store;
  clock: Clock;
  config: Pick<AuthConfig, 'sessionIdleSeconds'>;
  refreshTokens: RefreshTokens;
}): FindOwnSession {
  const { store, clock, config, refreshTokens } = deps;

  return async (refreshToken, login) => {
    const token = parseRefreshToken(refreshToken);
    if (!token) return undefined;
    const session = await store.sessions.bySid(token.sid);
    const now = clock.unix();
    if (!session || !isLive(session, now) || isIdle(session, config.sessionIdleSeconds, now)) return undefined;
    if (!holdsSession(refreshTokens, { session, token, now })) return undefined;
    return isStillTrusted(await store.users.byLogin(login), session) ? session.sid : undefined;
  };
}

/**
 * Whether a token is the session's own, or the one before it in the seconds in which that still
 * gives its successor.
 */
export function holdsSession(
  refreshTokens: RefreshTokens,
  { session, token, now }: { session: SessionRecord; token: RefreshToken; now: number },
): boolean {
  const generation = refreshTokens.generation(session, token.secret);
  return generation === 'current' || (generation === 'previous' && now <= session.previousValidUntil);
}
