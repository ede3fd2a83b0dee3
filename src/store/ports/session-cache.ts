/**
 * A cache of sessions that nodes share. The database is the authority: an active entry saves a
 * read, and only `revoked` is final. Everything uncertain (`revoking`, `unknown`, a cache that is
 * away) means "read the database". No operation rejects or waits long.
 */
export type CachedSession = {
  userId: number;
  userAuthVersion: number;
  version: number;
  /** Unix seconds: the session's absolute expiry. */
  expiresAt: number;
};

/**
 * What the cache holds for a session. `at` is the cache server's time of the reading in
 * milliseconds; no node's clock is involved.
 */
export type CacheReading = { at: number } & (
  | { state: 'active'; session: CachedSession }
  | { state: 'revoking' | 'revoked' | 'unknown' }
);

export type EndingSession = {
  sid: string;
  /** Unix seconds. A tombstone need not outlive its session. */
  expiresAt: number;
};

export interface SessionCache {
  /** False where every check reads the database: nothing needs to be published. */
  readonly enabled: boolean;
  /** `undefined` when there is no cache or it is away. */
  get(sid: string): Promise<CacheReading | undefined>;
  /**
   * Stores the session as a database read showed it that began after a `get` at `at`. The entry
   * lives for min(rest of the session, SYNC_FREQUENCY) counted from `at`, so a late write only gets
   * what is left. It never replaces a tombstone or an entry of newer versions.
   */
  remember(sid: string, session: CachedSession, at: number): Promise<void>;
  /** Before a revocation commits: until its outcome is known, every node reads the database. */
  markRevoking(sessions: readonly EndingSession[]): Promise<void>;
  /**
   * After the commit. Tombstones that cannot be written now are queued and go out first when the
   * cache is back.
   */
  writeTombstones(sessions: readonly EndingSession[]): Promise<void>;
}
