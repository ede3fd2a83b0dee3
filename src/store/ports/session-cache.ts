/**
 * What nodes remember of sessions between two readings of the database. The database is the authority: an entry saves a reading,
 * only `revoked` is a verdict, and everything that is not known for sure (`revoking`, nothing, a cache that is away) means "ask the
 * database". No operation ever rejects or waits long.
 */
export type CachedSession = {
  userId: number;
  userAuthVersion: number;
  version: number;
  /** Unix seconds: the session's absolute end. */
  expiresAt: number;
};

export type CacheVerdict = { state: 'active'; session: CachedSession } | { state: 'revoking' } | { state: 'revoked' };

export type EndingSession = {
  sid: string;
  /** Unix seconds: a tombstone need not outlive its session. */
  expiresAt: number;
};

export interface SessionCache {
  /** False where every check reads the database anyway: there is nothing to ask. */
  readonly enabled: boolean;
  get(sid: string): Promise<CacheVerdict | undefined>;
  /**
   * Remembers what a reading of the database showed. `observedAtMs` is the monotonic time just before that reading: the entry
   * lives for min(rest of the session, SYNC_FREQUENCY) from then on, so a late write-back only has what is left of it. It
   * never replaces a tombstone or an entry of newer versions.
   */
  remember(sid: string, session: CachedSession, observedAtMs: number): Promise<void>;
  /** Before a revocation is committed: until it is known to have happened, every node asks the database. */
  announce(sessions: readonly EndingSession[]): Promise<void>;
  /** After the commit. What cannot be published is kept and goes out first when the cache is back. */
  bury(sessions: readonly EndingSession[]): Promise<void>;
}
