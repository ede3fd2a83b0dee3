/**
 * What the rooms may ask of the database about accounts. The rules for implementations are those of
 * `store.ts`.
 */
import type {
  ApiKeyRecord,
  FlowRecord,
  FormerSecret,
  PasskeyRecord,
  SessionRecord,
  TwoFactorRecord,
  UserRecord,
} from './account-records.ts';
import type { Page, Paged } from './records.ts';

export interface SessionStore {
  insert(session: SessionRecord): Promise<void>;
  bySid(sid: string): Promise<SessionRecord | undefined>;
  /** Unexpired active sessions of a user, whatever their auth version. */
  countActive(userId: number, now: number): Promise<number>;
  /** Sessions created after `since`, in any state. */
  countIssued(userId: number, since: number): Promise<number>;
  /**
   * Swaps the refresh token: one statement that matches sid, active, unexpired and the current
   * hash. False when another rotation came first or the session has ended.
   */
  rotate(change: {
    sid: string;
    expectedHash: string;
    newHash: string;
    previousValidUntil: number;
    ip: string;
    addressKey: string;
    userAgent: string;
    now: number;
  }): Promise<boolean>;
  /**
   * Carries a session over a change of its user's `auth_version`: `version + 1` and the new auth
   * version in one statement that matches sid, active, unexpired, the session's version and its
   * present auth version. The refresh token stays. False when it has ended or moved on.
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
  revokeAll(sessions: { userId: number; exceptSid: string | null; reason: string; now: number }): Promise<string[]>;
  /** Active, unexpired, of this auth version; the latest active first; at most `limit`. */
  list(sessions: { userId: number; authVersion: number; now: number; limit: number }): Promise<SessionRecord[]>;
  /**
   * A user's sessions of an address key, and those without one, whatever became of them; the newest
   * first; at most `limit`.
   */
  ofAddress(
    userId: number,
    addressKey: string,
    limit: number,
  ): Promise<Pick<SessionRecord, 'sid' | 'ip' | 'addressKey' | 'userAgent'>[]>;
  /** The ids of a user's active, unexpired sessions of any auth version, with their ends. */
  active(userId: number, now: number): Promise<{ sid: string; expiresAt: number }[]>;
  /**
   * Those of `sids` that are active, unexpired, and of an enabled user whose auth version they
   * have.
   */
  usable(sids: readonly string[], now: number): Promise<string[]>;
  /** Sessions of all users created after `since`. */
  countAllIssued(since: number): Promise<number>;
  /**
   * Deletes at most `limit` expired sessions and gives their number. Kept are rows created after
   * `createdAfter` (they still count for issuance) and rows revoked after `revokedAfter`.
   */
  deleteExpired(rows: { now: number; createdAfter: number; revokedAfter: number; limit: number }): Promise<number>;
  /**
   * Deletes at most `limit` sessions revoked at or before `revokedUntil`; kept are rows created
   * after `createdAfter`.
   */
  deleteRevoked(rows: { revokedUntil: number; createdAfter: number; limit: number }): Promise<number>;
}

type WebhookFields = 'webhookUrl' | 'webhookSecretSealed' | 'webhookFormers';
export type NewApiKey = Omit<ApiKeyRecord, 'id' | 'usedQuota' | 'lastUsedAt' | WebhookFields> &
  Partial<Pick<ApiKeyRecord, 'webhookUrl' | 'webhookSecretSealed'>>;
export interface ApiKeyStore {
  insert(key: NewApiKey): Promise<ApiKeyRecord>;
  byHash(keyHash: string): Promise<{ key: ApiKeyRecord; user: UserRecord } | undefined>;
  byId(id: number): Promise<ApiKeyRecord | undefined>;
  /**
   * Those of `ids` that are enabled, unexpired, and of an enabled user; a used-up budget does not
   * count.
   */
  usable(ids: readonly number[], now: number): Promise<number[]>;
  list(userId: number, page: Page): Promise<Paged<ApiKeyRecord>>;
  update(
    id: number,
    userId: number,
    change: Partial<
      Pick<
        ApiKeyRecord,
        'name' | 'status' | 'unlimitedQuota' | 'quota' | 'models' | 'allowIps' | 'expiresAt' | 'group' | 'webhookUrl'
      >
    >,
  ): Promise<ApiKeyRecord | undefined>;
  /**
   * Puts a new webhook secret in the place of `present`, with those that sign along. Undefined
   * where another one is there, or no such key.
   */
  rotateWebhookSecret(
    id: number,
    userId: number,
    rotation: { present: string | null; sealed: string; formers: FormerSecret[] },
  ): Promise<ApiKeyRecord | undefined>;
  /** Keys with a webhook secret, by id, from the one after `id` on. */
  withWebhookSecret(id: number, limit: number): Promise<{ id: number; name: string; sealed: string }[]>;
  delete(id: number, userId: number): Promise<boolean>;
  /** Deletes all of a user's; gives their number. What they have reserved still settles. */
  deleteAll(userId: number): Promise<number>;
  touch(id: number, at: number): Promise<void>;
}

/** Bindings that a flow must have to be used; all that is named must be equal. */
export type FlowMatch = Pick<FlowRecord, 'purpose'> &
  Partial<Pick<FlowRecord, 'provider' | 'intent' | 'userId' | 'sessionId'>>;

/**
 * A flow that is used with a code: its token is known to whoever knows the address, its secret is
 * not.
 */
export type NewCode = Omit<FlowRecord, 'consumedAt'> & {
  /** Hex HMAC-SHA256 of what was sent; never empty. */
  secretHash: string;
};

/** Which flow is asked for. */
export type FlowToken = Pick<FlowRecord, 'tokenHash' | 'purpose'>;
/** The hashes that the sent code may have, one for each secret in use. */
export type CodeCandidates = { secretHashes: readonly string[]; now: number };

export interface FlowStore {
  /** False when this token is known: a signed assertion that was seen before. */
  insert(flow: FlowRecord): Promise<boolean>;
  /** An unused, unexpired flow that matches and has no code. */
  find(tokenHash: string, match: FlowMatch, now: number): Promise<FlowRecord | undefined>;
  /**
   * Uses it up in one statement with the same conditions: among concurrent callers one gets the
   * flow.
   */
  consume(tokenHash: string, match: FlowMatch, now: number): Promise<FlowRecord | undefined>;
  /** Writes a flow with a code, unused and untried, in place of the one of the same token. */
  putCode(code: NewCode): Promise<void>;
  /**
   * Counts a try before the code is looked at, in one statement, and gives their number:
   * `undefined` when the flow is unknown, expired, used, or was tried `limit` times. It must be
   * committed before `takeCode`, so never in the same transaction.
   */
  countTry(flow: FlowToken & { limit: number; now: number }): Promise<number | undefined>;
  /**
   * An unused, unexpired flow with a code, if its secret is among these candidates (one a key).
   * Uses nothing up.
   */
  findCode(flow: FlowToken & CodeCandidates): Promise<FlowRecord | undefined>;
  /**
   * Uses a flow with a code up in one statement, if its secret is among these candidates (one a
   * key): among concurrent callers one gets it. Tries are not looked at: `countTry` let the caller
   * through.
   */
  takeCode(flow: FlowToken & CodeCandidates): Promise<FlowRecord | undefined>;
  /** Deletes all flows that are bound to a user; gives their number. */
  deleteOfUser(userId: number): Promise<number>;
  /**
   * Deletes at most `limit` flows that expired or were used at or before `until`; gives their
   * number.
   */
  deleteDone(until: number, limit: number): Promise<number>;
}

export interface TwoFactorStore {
  byUser(userId: number): Promise<TwoFactorRecord | undefined>;
  /** Enabled ones of users whose id is above `userId`, by it; at most `limit`. */
  enabledAfter(userId: number, limit: number): Promise<{ userId: number; secretSealed: string }[]>;
  /**
   * Begins a set-up, in place of one that was not confirmed. False when the user's two-factor is
   * enabled.
   */
  begin(setup: { userId: number; secretSealed: string; createdAt: number }): Promise<boolean>;
  /** Enables a set-up that is pending under this very secret; `at` becomes its `createdAt`. */
  enable(userId: number, secretSealed: string, at: number): Promise<boolean>;
  /** Removes it and all backup codes. False when there was none. */
  delete(userId: number): Promise<boolean>;
  /**
   * Counts an attempt before it is looked at, in one statement: `undefined` while locked. The
   * attempt that reaches `limit` locks until `now + lockSeconds`, and so does every later one until
   * a right code.
   */
  countAttempt(userId: number, lock: { now: number; limit: number; lockSeconds: number }): Promise<number | undefined>;
  /**
   * Uses the code of a time step up: false when this step or a later one was used. Clears the
   * attempts.
   */
  useStep(userId: number, step: number): Promise<boolean>;
  /**
   * Takes one counted attempt back, and the lock that it may have set: its code was right, or was
   * not looked at.
   */
  giveBackAttempt(userId: number): Promise<void>;
  clearAttempts(userId: number): Promise<void>;
  /** Puts `hashes` in place of all backup codes of the user. */
  replaceBackupCodes(userId: number, hashes: readonly string[], createdAt: number): Promise<void>;
  /**
   * Uses up one unused backup code among these candidates (one a secret). False when there is none.
   */
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
  /**
   * Notes a use in one statement that matches the counter as it was read: false when another use
   * came in between.
   */
  use(id: number, use: { expectedCounter: number; counter: number; backedUp: boolean; at: number }): Promise<boolean>;
  rename(id: number, userId: number, name: string): Promise<PasskeyRecord | undefined>;
  delete(id: number, userId: number): Promise<boolean>;
  /** Deletes all of a user's; gives their number. */
  deleteAll(userId: number): Promise<number>;
}
