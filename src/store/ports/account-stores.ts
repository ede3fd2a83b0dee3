/** What the rooms may ask of the database about accounts. The rules for implementations are those of `store.ts`. */
import type {
  AccessTokenRecord,
  ApiKeyRecord,
  FlowRecord,
  IdentityRecord,
  PasskeyRecord,
  SessionRecord,
  TwoFactorRecord,
  UserRecord,
} from './account-records.ts';
import type { Page, Paged } from './records.ts';

export type NewUser = Pick<
  UserRecord,
  'username' | 'displayName' | 'passwordHash' | 'role' | 'status' | 'email' | 'group' | 'language' | 'createdAt'
>;

export interface UserStore {
  /** `undefined` when the name is taken (ignoring case). The balance starts at 0: grants are ledger lines. */
  insert(user: NewUser): Promise<UserRecord | undefined>;
  byId(id: number): Promise<UserRecord | undefined>;
  /** By user name, ignoring case, or by e-mail address. */
  byLogin(login: string): Promise<UserRecord | undefined>;
  countByRole(role: number): Promise<number>;
  /** New password hash and `auth_version + 1` in one statement; `expectedAuthVersion` guards against a concurrent change. */
  setPassword(id: number, passwordHash: string, expectedAuthVersion: number): Promise<boolean>;
  /** `auth_version + 1` for a change that is written elsewhere in the same transaction (a factor). */
  moveAuthVersion(id: number, expectedAuthVersion: number): Promise<boolean>;
  touchLogin(id: number, at: number): Promise<void>;
  /** The user of a personal access token, by the token's SHA-256 in hex. */
  byAccessToken(hash: string): Promise<UserRecord | undefined>;
  /** Replaces the user's one personal access token, or takes it away (`null`). False when there is no such user. */
  setAccessToken(id: number, token: (AccessTokenRecord & { hash: string }) | null): Promise<boolean>;
  accessTokenOf(id: number): Promise<AccessTokenRecord | undefined>;
  list(page: Page, query?: string): Promise<Paged<UserRecord>>;
}

export interface SessionStore {
  insert(session: SessionRecord): Promise<void>;
  bySid(sid: string): Promise<SessionRecord | undefined>;
  /** Unexpired active sessions of a user, whatever their auth version. */
  countActive(userId: number, now: number): Promise<number>;
  /** Sessions created after `since`, in any state. */
  countIssued(userId: number, since: number): Promise<number>;
  /**
   * Swaps the refresh token: one statement that matches sid, active, unexpired and the current hash. False when another
   * rotation came first or the session has ended.
   */
  rotate(change: {
    sid: string;
    expectedHash: string;
    newHash: string;
    previousValidUntil: number;
    ip: string;
    userAgent: string;
    now: number;
  }): Promise<boolean>;
  /**
   * Carries a session over a change of its user's `auth_version`: `version + 1` and the new auth version in one statement that
   * matches sid, active, unexpired, the session's version and its present auth version. The refresh token stays. False when it
   * has ended or moved on.
   */
  advance(change: {
    sid: string;
    expectedVersion: number;
    expectedUserAuthVersion: number;
    userAuthVersion: number;
    now: number;
  }): Promise<boolean>;
  /** Notes a use of an active session: `lastActiveAt` moves on to `now`, never back. */
  touch(sid: string, now: number): Promise<void>;
  /** False when it was not active. */
  revoke(sid: string, reason: string, now: number): Promise<boolean>;
  /** Revokes all active sessions of a user but `exceptSid`; gives the revoked sids. */
  revokeAll(userId: number, exceptSid: string | null, reason: string, now: number): Promise<string[]>;
  /** Active, unexpired, of this auth version; the latest active first; at most `limit`. */
  list(userId: number, authVersion: number, now: number, limit: number): Promise<SessionRecord[]>;
  /** The ids of a user's active, unexpired sessions of any auth version, with their ends. */
  active(userId: number, now: number): Promise<{ sid: string; expiresAt: number }[]>;
  /** Sessions of all users created after `since`. */
  countAllIssued(since: number): Promise<number>;
  /**
   * Deletes at most `limit` expired sessions and gives their number. Kept are rows created after `createdAfter` (they still count
   * for issuance) and rows revoked after `revokedAfter`.
   */
  deleteExpired(rows: { now: number; createdAfter: number; revokedAfter: number; limit: number }): Promise<number>;
  /** Deletes at most `limit` sessions revoked at or before `revokedUntil`; kept are rows created after `createdAfter`. */
  deleteRevoked(rows: { revokedUntil: number; createdAfter: number; limit: number }): Promise<number>;
}

export type NewApiKey = Omit<ApiKeyRecord, 'id' | 'usedQuota' | 'lastUsedAt'>;
export interface ApiKeyStore {
  insert(key: NewApiKey): Promise<ApiKeyRecord>;
  byHash(keyHash: string): Promise<{ key: ApiKeyRecord; user: UserRecord } | undefined>;
  byId(id: number): Promise<ApiKeyRecord | undefined>;
  list(userId: number, page: Page): Promise<Paged<ApiKeyRecord>>;
  update(
    id: number,
    userId: number,
    change: Partial<
      Pick<ApiKeyRecord, 'name' | 'status' | 'unlimitedQuota' | 'quota' | 'models' | 'allowIps' | 'expiresAt' | 'group'>
    >,
  ): Promise<ApiKeyRecord | undefined>;
  delete(id: number, userId: number): Promise<boolean>;
  touch(id: number, at: number): Promise<void>;
}

/** Bindings that a flow must have to be used; all that is named must be equal. */
export type FlowMatch = Pick<FlowRecord, 'purpose'> &
  Partial<Pick<FlowRecord, 'provider' | 'intent' | 'userId' | 'sessionId'>>;

export interface FlowStore {
  /** False when this token is known: a signed assertion that was seen before. */
  insert(flow: FlowRecord): Promise<boolean>;
  /** An unused, unexpired flow that matches. */
  find(tokenHash: string, match: FlowMatch, now: number): Promise<FlowRecord | undefined>;
  /** Uses it up in one statement with the same conditions: among concurrent callers one gets the flow. */
  consume(tokenHash: string, match: FlowMatch, now: number): Promise<FlowRecord | undefined>;
  /** Deletes at most `limit` flows that expired or were used at or before `until`; gives their number. */
  deleteDone(until: number, limit: number): Promise<number>;
}

export interface TwoFactorStore {
  byUser(userId: number): Promise<TwoFactorRecord | undefined>;
  /** Begins a set-up, in place of one that was not confirmed. False when the user's two-factor is enabled. */
  begin(setup: { userId: number; secretSealed: string; createdAt: number }): Promise<boolean>;
  /** Enables a set-up that is pending under this very secret. */
  enable(userId: number, secretSealed: string): Promise<boolean>;
  /** Removes it and all backup codes. False when there was none. */
  delete(userId: number): Promise<boolean>;
  /**
   * Counts an attempt before it is looked at, in one statement: `undefined` while locked. The attempt that reaches `limit`
   * locks until `now + lockSeconds`, and so does every later one until a right code.
   */
  countAttempt(userId: number, lock: { now: number; limit: number; lockSeconds: number }): Promise<number | undefined>;
  /** Uses the code of a time step up: false when this step or a later one was used. Clears the attempts. */
  useStep(userId: number, step: number): Promise<boolean>;
  /** Takes one counted attempt back, and the lock that it may have set: its code was right, or was not looked at. */
  giveBackAttempt(userId: number): Promise<void>;
  clearAttempts(userId: number): Promise<void>;
  /** Puts `hashes` in place of all backup codes of the user. */
  replaceBackupCodes(userId: number, hashes: readonly string[], createdAt: number): Promise<void>;
  /** Uses up one unused backup code among these candidates (one a secret). False when there is none. */
  useBackupCode(userId: number, candidateHashes: readonly string[], now: number): Promise<boolean>;
  countBackupCodes(userId: number): Promise<number>;
}

export type NewPasskey = Omit<PasskeyRecord, 'id' | 'lastUsedAt'>;
export interface PasskeyStore {
  /** `undefined` when this credential is registered. */
  insert(passkey: NewPasskey): Promise<PasskeyRecord | undefined>;
  byCredentialId(credentialId: string): Promise<PasskeyRecord | undefined>;
  /** The oldest first. */
  list(userId: number): Promise<PasskeyRecord[]>;
  /** Notes a use in one statement that matches the counter as it was read: false when another use came in between. */
  use(id: number, use: { expectedCounter: number; counter: number; backedUp: boolean; at: number }): Promise<boolean>;
  rename(id: number, userId: number, name: string): Promise<PasskeyRecord | undefined>;
  delete(id: number, userId: number): Promise<boolean>;
  /** Deletes all of a user's; gives their number. */
  deleteAll(userId: number): Promise<number>;
}

export interface IdentityStore {
  list(userId: number): Promise<IdentityRecord[]>;
}
