/** Sessions of the panel, and the cache of them that nodes share. */
import type { UserRecord } from './users.ts';

export type SessionStatus = 'active' | 'revoked';

export type SessionRecord = {
  sid: string;
  userId: number;
  version: number;
  userAuthVersion: number;
  status: SessionStatus;
  /** Hex HMAC-SHA256 of the secret half of the refresh token. */
  refreshHash: string;
  previousRefreshHash: string | null;
  /** Unix seconds until which the previous token still yields the same successor. */
  previousValidUntil: number;
  loginMethod: string;
  ip: string;
  /** The key under which rate limits counted the address; empty in rows that predate the column. */
  addressKey: string;
  userAgent: string;
  createdAt: number;
  lastActiveAt: number;
  expiresAt: number;
  revokedAt: number;
  revokedReason: string;
};

export interface SessionStore {
  insert(session: SessionRecord): Promise<void>;
  bySid(sid: string): Promise<SessionRecord | undefined>;
  /** The session and its user as they were at one moment; `undefined` when either is gone. */
  withUser(sid: string): Promise<{ session: SessionRecord; user: UserRecord } | undefined>;
  /** Active, unexpired sessions of a user that were used after `usedAfter`, of any auth version. */
  countActive(userId: number, now: number, usedAfter?: number): Promise<number>;
  /** Sessions of a user created after `since` and not after `until`, in any state. */
  countIssued(userId: number, since: number, until?: number): Promise<number>;
  /**
   * Swaps the refresh token in one statement that matches sid, active, unexpired, the current hash
   * and both versions. False when another rotation or security change came first, or the session
   * has ended.
   */
  rotate(change: {
    sid: string;
    expectedHash: string;
    expectedVersion: number;
    expectedUserAuthVersion: number;
    newHash: string;
    previousValidUntil: number;
    ip: string;
    addressKey: string;
    userAgent: string;
    now: number;
  }): Promise<boolean>;
  /**
   * Keeps a session valid across a change of its user's `auth_version`: `version + 1` and the new
   * auth version in one statement that matches sid, active, unexpired, the session's version and
   * its current auth version. The refresh token stays. False when the session has ended or has
   * moved on.
   */
  advance(change: {
    sid: string;
    expectedVersion: number;
    expectedUserAuthVersion: number;
    userAuthVersion: number;
    now: number;
  }): Promise<boolean>;
  /** Records a use of an active session: `lastActiveAt` moves forward to `now`, never back. */
  touch(sid: string, now: number): Promise<void>;
  /** False when the session was not active. */
  revoke(sid: string, reason: string, now: number): Promise<boolean>;
  /** Revokes all active sessions of a user except `exceptSid`; returns the revoked sids. */
  revokeAll(sessions: { userId: number; exceptSid: string | null; reason: string; now: number }): Promise<string[]>;
  /**
   * Active, unexpired sessions of this auth version that were used after `usedAfter`, the most
   * recently active first.
   */
  list(sessions: {
    userId: number;
    authVersion: number;
    now: number;
    usedAfter?: number;
    limit: number;
  }): Promise<SessionRecord[]>;
  /**
   * A user's sessions with this address key or without any, in every state; the newest first, at
   * most `limit`.
   */
  ofAddress(
    userId: number,
    addressKey: string,
    limit: number,
  ): Promise<Pick<SessionRecord, 'sid' | 'ip' | 'addressKey' | 'userAgent'>[]>;
  /** Active, unexpired sessions of a user, of any auth version. */
  active(userId: number, now: number): Promise<{ sid: string; expiresAt: number }[]>;
  /** The subset of `sids` that is active, unexpired and has the auth version of an enabled user. */
  usable(sids: readonly string[], now: number): Promise<string[]>;
  /** Sessions of all users created after `since`. */
  countAllIssued(since: number): Promise<number>;
  /**
   * Deletes at most `limit` expired sessions and returns their number. Keeps rows created after
   * `createdAfter` (they still count against the issuance limit) and rows revoked after
   * `revokedAfter`.
   */
  deleteExpired(rows: { now: number; createdAfter: number; revokedAfter: number; limit: number }): Promise<number>;
  /**
   * Deletes at most `limit` sessions revoked at or before `revokedUntil` and returns their number.
   * Keeps rows created after `createdAfter`.
   */
  deleteRevoked(rows: { revokedUntil: number; createdAfter: number; limit: number }): Promise<number>;
}

/**
 * A cache of sessions that nodes share. The database is the authority: an active entry saves a
 * read, and only `revoked` is final. Everything uncertain (`revoking`, `unknown`, a cache that is
 * unavailable) means "read the database". No operation rejects or waits long.
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
  /** `undefined` when there is no cache or it is unavailable. */
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
