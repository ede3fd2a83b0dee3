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

/** Ends all sessions of `userId` but `exceptSid`; `reason` becomes their `revoked_reason`. */
export type SessionsEnding = { userId: number; exceptSid: string | null; reason: string };

/**
 * Checks and ends sessions, and keeps database and cache in agreement. No other code ends a
 * session: nodes that share a cache would go on trusting it for up to SYNC_FREQUENCY.
 */
export interface SessionRegistry {
  /** The present user, if user and session still match the token; else `undefined`. */
  check(claims: TokenSubject): Promise<UserRecord | undefined>;
  /** Ends one session. False when it was not active. */
  end(session: EndingSession, reason: string): Promise<boolean>;
  /**
   * Ends all of a user's sessions but one, as a part of `change`: `change` calls `end` once inside
   * its transaction (or with the store itself) and gets the number of sessions ended. Settles as
   * `change` does; when it rejects, nothing has ended.
   */
  endAll<T>(ending: SessionsEnding, change: (end: (tx: Repositories) => Promise<number>) => Promise<T>): Promise<T>;
}

const SECONDS_PER_DAY = 86_400;
/** A session's use is stored at most this often, where an idle timeout is set. */
const TOUCH_SECONDS = 60;

export function createSessionRegistry(deps: {
  store: Store;
  sessionCache: SessionCache;
  clock: Clock;
  logger: Logger;
  config: Pick<AuthConfig, 'refreshDays' | 'sessionIdleSeconds'>;
}): SessionRegistry {
  const { store, sessionCache: cache, clock, logger, config } = deps;

  /**
   * The session behind a token, from the cache if the entry matches the token in full. An entry
   * that does not match decides nothing: the token may be newer.
   */
  async function find(claims: TokenSubject): Promise<CachedSession | undefined> {
    const reading = await cache.get(claims.sid);
    if (reading?.state === 'revoked') return undefined;
    if (reading?.state === 'active' && matches(reading.session, claims)) return reading.session;
    const row = await store.sessions.bySid(claims.sid);
    if (!row || !isUsable(row)) return undefined;
    const session = toCached(row);
    if (reading) await cache.remember(row.sid, session, reading.at);
    return session;
  }

  function isUsable(row: SessionRecord): boolean {
    const isUsable = isLive(row, clock.unix());
    if (isUsable && config.sessionIdleSeconds > 0) storeUse(row);
    return isUsable;
  }

  /** Reads session and user in one statement, for nodes that have no cache of sessions. */
  async function findInDatabase(sid: string): Promise<[CachedSession | undefined, UserRecord | undefined]> {
    const found = await store.sessions.withUser(sid);
    return found && isUsable(found.session) ? [found.session, found.user] : [undefined, undefined];
  }

  /** In the background: a session stays valid when its use cannot be stored. */
  function storeUse({ sid, lastActiveAt }: SessionRecord): void {
    const now = clock.unix();
    if (now - lastActiveAt < TOUCH_SECONDS) return;
    store.sessions
      .touch(sid, now)
      .catch((error) => logger.warn({ err: error, sid }, 'last use of a session was not stored'));
  }

  return {
    async check(claims) {
      // The user is always read from the database, so that every node sees a disabled user, an
      // advanced auth version and a changed role at once. A session that was carried over with new
      // versions needs no cache update for the same reason: its old token fails here, and its new
      // one does not match the old entry.
      const [session, user] = cache.enabled
        ? await Promise.all([find(claims), store.users.byId(claims.userId)])
        : await findInDatabase(claims.sid);
      const holds =
        session !== undefined &&
        session.expiresAt > clock.unix() &&
        matches(session, claims) &&
        isStillTrusted(user, session);
      return holds ? user : undefined;
    },

    async end(session, reason) {
      await cache.markRevoking([session]);
      const ended = await store.sessions.revoke(session.sid, reason, clock.unix());
      // This is done even if another node ended it first: that node may have failed before this
      // step.
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
      // A session opened in between has its full life before it.
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

const matches = (session: CachedSession, claims: TokenSubject): boolean =>
  session.userId === claims.userId &&
  session.version === claims.sessionVersion &&
  session.userAuthVersion === claims.userAuthVersion;
