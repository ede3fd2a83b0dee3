/**
 * What nodes remember of sessions between two readings of the database. The database is the
 * authority: an entry saves a reading, only `revoked` is a verdict, and everything that is not
 * known for sure (`revoking`, `unknown`, a cache that is away) means "ask the database". No
 * operation ever rejects or waits long.
 */
export type CachedSession = {
  userId: number;
  userAuthVersion: number;
  version: number;
  /** Unix seconds: the session's absolute end. */
  expiresAt: number;
};

/**
 * What the cache says of a session. `at` is its own time of saying so, in milliseconds; no node's
 * clock has a part in it.
 */
export type CacheReading = { at: number } & (
  | { state: 'active'; session: CachedSession }
  | { state: 'revoking' | 'revoked' | 'unknown' }
);

export type EndingSession = {
  sid: string;
  /** Unix seconds: a tombstone need not outlive its session. */
  expiresAt: number;
};

export interface SessionCache {
  /** False where every check reads the database anyway: nobody needs to be told anything. */
  readonly enabled: boolean;
  /** `undefined` when there is no cache or it is away. */
  get(sid: string): Promise<CacheReading | undefined>;
  /**
   * Remembers what a reading of the database showed that began after a `get` at `at`. The entry
   * lives for min(rest of the session, SYNC_FREQUENCY) from then on, so a late write-back only has
   * what is left of it. It never replaces a tombstone or an entry of newer versions.
   */
  remember(sid: string, session: CachedSession, at: number): Promise<void>;
  /**
   * Before a revocation is committed: until it is known to have happened, every node asks the
   * database.
   */
  markRevoking(sessions: readonly EndingSession[]): Promise<void>;
  /**
   * After the commit. What cannot be published is kept and goes out first when the cache is back.
   */
  writeTombstones(sessions: readonly EndingSession[]): Promise<void>;
}
