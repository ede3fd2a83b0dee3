import type { Clock, Logger } from '../../kernel/index.ts';
import type {
  CachedSession,
  EndingSession,
  Repositories,
  SessionCache,
  SessionRecord,
  Store,
  UserRecord,
} from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import type { TokenSubject } from '../tokens/panel-jwt.ts';
import { isLive, isStillTrusted } from './check-session.ts';

/** Whose sessions end, and the `revoked_reason` of their rows. */
export type SessionsEnding = { userId: number; exceptSid: string | null; reason: string };

/**
 * The one place that lets sessions in and ends them, with the database and the cache in agreement.
 * A session is never ended past it: nodes that share a cache would go on believing in it for up to
 * SYNC_FREQUENCY.
 */
export interface SessionGate {
  /**
   * The user as he is now, if he and the session still are what the token says; else `undefined`.
   */
  check(claims: TokenSubject): Promise<UserRecord | undefined>;
  /** Ends one session. False when it was not active. */
  end(session: EndingSession, reason: string): Promise<boolean>;
  /**
   * Ends all of a user's sessions but one, as a part of `change`: that calls `end` once inside its
   * transaction (or with the store itself) and gets the number of sessions ended. Gives what
   * `change` gives and rejects as it does; then nothing has ended.
   */
  endAll<T>(ending: SessionsEnding, change: (end: (tx: Repositories) => Promise<number>) => Promise<T>): Promise<T>;
}

const SECONDS_PER_DAY = 86_400;
/** How often a use is written down at most, where sessions end for want of use. */
const TOUCH_SECONDS = 60;

export function createSessionGate(deps: {
  store: Store;
  sessionCache: SessionCache;
  clock: Clock;
  logger: Logger;
  config: Pick<AuthConfig, 'refreshDays' | 'sessionIdleSeconds'>;
}): SessionGate {
  const { store, sessionCache: cache, clock, logger, config } = deps;

  /**
   * The session behind a token, from the cache if what it holds fits the token in full. Whatever
   * else it holds is no verdict: the token may be newer than the entry.
   */
  async function find(claims: TokenSubject): Promise<CachedSession | undefined> {
    const reading = await cache.get(claims.sid);
    if (reading?.state === 'revoked') return undefined;
    if (reading?.state === 'active' && fits(reading.session, claims)) return reading.session;
    const row = await store.sessions.bySid(claims.sid);
    if (!row || !isLive(row, clock.unix())) return undefined;
    if (config.sessionIdleSeconds > 0) noteUse(row);
    const session = toCached(row);
    if (reading) await cache.remember(row.sid, session, reading.at);
    return session;
  }

  /** In the background: a session is as good when its use cannot be written down. */
  function noteUse({ sid, lastActiveAt }: SessionRecord): void {
    const now = clock.unix();
    if (now - lastActiveAt < TOUCH_SECONDS) return;
    store.sessions.touch(sid, now).catch((error) => logger.warn({ err: error, sid }, 'use of a session not noted'));
  }

  return {
    async check(claims) {
      // The user is read from the database whatever the cache says, so that a disabled user, a
      // moved auth version and a changed role are seen at once on every node. A session that went
      // on with new versions needs no publication for the same reason: its old token fails here,
      // its new one does not fit the old entry.
      const [session, user] = await Promise.all([find(claims), store.users.byId(claims.userId)]);
      const holds =
        session !== undefined &&
        session.expiresAt > clock.unix() &&
        fits(session, claims) &&
        isStillTrusted(user, session);
      return holds ? user : undefined;
    },

    async end(session, reason) {
      await cache.markRevoking([session]);
      const ended = await store.sessions.revoke(session.sid, reason, clock.unix());
      // Also when another node was first: it may not have come to publish it.
      await cache.writeTombstones([session]);
      return ended;
    },

    async endAll({ userId, exceptSid, reason }, change) {
      const now = clock.unix();
      const known = cache.enabled ? await store.sessions.active(userId, now) : [];
      await cache.markRevoking(known.filter(({ sid }) => sid !== exceptSid));

      let ended: string[] = [];
      const result = await change(async (tx) => {
        ended = await tx.sessions.revokeAll({ userId, exceptSid, reason, now });
        return ended.length;
      });

      const ends = new Map(known.map(({ sid, expiresAt }) => [sid, expiresAt]));
      // One that was opened in between has its whole life before it.
      const unknownEnd = now + config.refreshDays * SECONDS_PER_DAY;
      await cache.writeTombstones(ended.map((sid) => ({ sid, expiresAt: ends.get(sid) ?? unknownEnd })));
      return result;
    },
  };
}

const toCached = ({ userId, userAuthVersion, version, expiresAt }: SessionRecord): CachedSession => ({
  userId,
  userAuthVersion,
  version,
  expiresAt,
});

const fits = (session: CachedSession, claims: TokenSubject): boolean =>
  session.userId === claims.userId &&
  session.version === claims.sessionVersion &&
  session.userAuthVersion === claims.userAuthVersion;
