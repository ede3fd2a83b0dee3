/** Queries and state changes of accounts. `store.ts` states the rules for every implementation. */
import type {
  ApiKeyRecord,
  FlowRecord,
  FormerSecret,
  KeyOwner,
  PasskeyRecord,
  PresentedKey,
  SessionRecord,
  TwoFactorRecord,
  UserRecord,
} from './account-records.ts';
import type { Page, Paged } from './records.ts';

export interface SessionStore {
  insert(session: SessionRecord): Promise<void>;
  bySid(sid: string): Promise<SessionRecord | undefined>;
  /** The session and its user as they were at one moment; `undefined` when either is gone. */
  withUser(sid: string): Promise<{ session: SessionRecord; user: UserRecord } | undefined>;
  /** Active, unexpired sessions of a user, of any auth version. */
  countActive(userId: number, now: number): Promise<number>;
  /** Sessions of a user created after `since`, in any state. */
  countIssued(userId: number, since: number): Promise<number>;
  /**
   * Swaps the refresh token in one statement that matches sid, active, unexpired and the current
   * hash. False when another rotation won or the session has ended.
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
  /** Active, unexpired sessions of this auth version, the most recently active first. */
  list(sessions: { userId: number; authVersion: number; now: number; limit: number }): Promise<SessionRecord[]>;
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

type DefaultedFields =
  | 'formerHash'
  | 'formerPrefix'
  | 'formerUntil'
  | 'webhookUrl'
  | 'webhookSecretSealed'
  | 'webhookFormers'
  | 'keepResults';
export type NewApiKey = Omit<ApiKeyRecord, 'id' | 'usedQuota' | 'lastUsedAt' | DefaultedFields> &
  Partial<Pick<ApiKeyRecord, 'webhookUrl' | 'webhookSecretSealed' | 'keepResults'>>;

/** What a key is called, and whose it is. */
export type ApiKeyName = Pick<ApiKeyRecord, 'id' | 'name' | 'userId'> & { username: string };
/** `keyword`: a part of the key's name or of its owner's, or an id. */
export type ApiKeySearch = { userId?: number; id?: number; keyword?: string; firstOf: number };

/** The longest that a replaced API key may work on, in seconds. */
export const LONGEST_FORMER_SECONDS = 30 * 24 * 3600;
/** How long a replaced webhook secret signs beside the new one, in seconds. */
export const FORMER_SECRET_SECONDS = 24 * 3600;

export interface ApiKeyStore {
  insert(key: NewApiKey): Promise<ApiKeyRecord>;
  /** By the digest of the current key, or of the replaced one before its end. */
  byHash(keyHash: string, now: number): Promise<{ key: PresentedKey; user: KeyOwner } | undefined>;
  byId(id: number): Promise<ApiKeyRecord | undefined>;
  /**
   * The subset of `keyHashes` whose keys are enabled, unexpired and owned by an enabled user:
   * current keys, and replaced ones before their end. A used-up budget does not matter.
   */
  usable(keyHashes: readonly string[], now: number): Promise<string[]>;
  list(userId: number, page: Page): Promise<Paged<ApiKeyRecord>>;
  /** Names of keys, those of `firstOf` first, then the newest. */
  names(find: ApiKeySearch, limit: number): Promise<ApiKeyName[]>;
  update(
    id: number,
    userId: number,
    change: Partial<
      Pick<
        ApiKeyRecord,
        | 'name'
        | 'status'
        | 'unlimitedQuota'
        | 'quota'
        | 'models'
        | 'allowIps'
        | 'expiresAt'
        | 'group'
        | 'webhookUrl'
        | 'keepResults'
      >
    >,
  ): Promise<ApiKeyRecord | undefined>;
  /**
   * Replaces the webhook secret `present` and the list of replaced ones that still sign.
   * `undefined` when the key has another secret by now, or does not exist.
   */
  rotateWebhookSecret(
    id: number,
    userId: number,
    rotation: { present: string | null; sealed: string; formers: FormerSecret[] },
  ): Promise<ApiKeyRecord | undefined>;
  /**
   * Replaces the key whose digest is `presentHash`; until `formerUntil` that one works too. The one
   * before it ends now. With `keepsFormer` it is the other way round. `undefined` when another
   * rotation won, there is nothing to keep, or the key does not exist.
   */
  rotate(
    id: number,
    userId: number,
    rotation: { presentHash: string; keyHash: string; prefix: string; formerUntil: number; keepsFormer?: boolean },
  ): Promise<ApiKeyRecord | undefined>;
  /**
   * Ends the replaced key now, with `prefix` only that one. `undefined` when another one was
   * replaced since, or the key does not exist.
   */
  endFormer(id: number, userId: number, prefix?: string): Promise<ApiKeyRecord | undefined>;
  /** Removes at most `limit` replaced keys that have ended; resolves to how many. */
  forgetFormers(now: number, limit: number): Promise<number>;
  /** Keys with a webhook secret whose id is above `id`, in order of id. */
  withWebhookSecret(id: number, limit: number): Promise<{ id: number; name: string; sealed: string }[]>;
  delete(id: number, userId: number): Promise<boolean>;
  /** Deletes all keys of a user; returns their number. Their reservations still settle. */
  deleteAll(userId: number): Promise<number>;
  touch(id: number, at: number): Promise<void>;
}

/** Bindings that a flow must have to be used. Each one given must be equal. */
export type FlowMatch = Pick<FlowRecord, 'purpose'> &
  Partial<Pick<FlowRecord, 'provider' | 'intent' | 'userId' | 'sessionId'>>;

/**
 * A flow that is used with a code. Its token is derived from the address and no secret; the code is
 * the secret.
 */
export type NewCode = Omit<FlowRecord, 'consumedAt'> & {
  /** Hex HMAC-SHA256 of the code that was sent; never empty. */
  secretHash: string;
};

/** What identifies a flow. */
export type FlowToken = Pick<FlowRecord, 'tokenHash' | 'purpose'>;
/** The hashes that the sent code may have, one for each secret in use. */
export type CodeCandidates = { secretHashes: readonly string[]; now: number };

export interface FlowStore {
  /** False when the token exists: a signed assertion was replayed. */
  insert(flow: FlowRecord): Promise<boolean>;
  /** An unused, unexpired flow that matches and has no code. */
  find(tokenHash: string, match: FlowMatch, now: number): Promise<FlowRecord | undefined>;
  /**
   * Marks such a flow used in one statement with the same conditions. Of concurrent callers, one
   * gets the flow.
   */
  consume(tokenHash: string, match: FlowMatch, now: number): Promise<FlowRecord | undefined>;
  /** Writes a flow with a code, unused and untried; replaces the one of the same token. */
  putCode(code: NewCode): Promise<void>;
  /**
   * Counts a try in one statement, before the code is checked, and returns the number of tries.
   * `undefined` when the flow is unknown, expired, used, or was tried `limit` times. Must be
   * committed before `takeCode`: never call both in one transaction.
   */
  countTry(flow: FlowToken & { limit: number; now: number }): Promise<number | undefined>;
  /** An unused, unexpired flow whose code is among the candidates. Does not mark it used. */
  findCode(flow: FlowToken & CodeCandidates): Promise<FlowRecord | undefined>;
  /**
   * Marks a flow with a code used in one statement, if its code is among the candidates. Of
   * concurrent callers, one gets it. Tries are not checked here: `countTry` did that.
   */
  takeCode(flow: FlowToken & CodeCandidates): Promise<FlowRecord | undefined>;
  /** Deletes all flows bound to a user; returns their number. */
  deleteOfUser(userId: number): Promise<number>;
  /**
   * Deletes at most `limit` flows that expired or were used at or before `until`; returns their
   * number.
   */
  deleteDone(until: number, limit: number): Promise<number>;
}

export interface TwoFactorStore {
  byUser(userId: number): Promise<TwoFactorRecord | undefined>;
  /**
   * Enabled authenticator apps of users whose id is above `userId`, in order of id; at most
   * `limit`.
   */
  enabledAfter(userId: number, limit: number): Promise<{ userId: number; secretSealed: string }[]>;
  /**
   * Begins a set-up; replaces one that was not confirmed. False when the user's two-factor is
   * enabled.
   */
  begin(setup: { userId: number; secretSealed: string; createdAt: number }): Promise<boolean>;
  /** Enables a set-up that is pending under exactly this secret; `at` becomes its `createdAt`. */
  enable(userId: number, secretSealed: string, at: number): Promise<boolean>;
  /** Deletes the authenticator app and all backup codes. False when there was none. */
  delete(userId: number): Promise<boolean>;
  /**
   * Counts an attempt in one statement, before its code is checked; `undefined` while locked. The
   * attempt that reaches `limit` locks until `now + lockSeconds`, and so does every later one until
   * a right code. A lock further ahead than that was set by a clock that was ahead, and is over.
   */
  countAttempt(userId: number, lock: { now: number; limit: number; lockSeconds: number }): Promise<number | undefined>;
  /**
   * Marks a time step used and clears the attempts. False when this step or a later one was used,
   * unless the clock was ahead then.
   */
  useStep(userId: number, step: number): Promise<boolean>;
  /**
   * Takes one counted attempt back, and the lock that it may have set. For a right code, and for
   * one that was not checked.
   */
  giveBackAttempt(userId: number): Promise<void>;
  clearAttempts(userId: number): Promise<void>;
  /** Replaces all backup codes of the user. */
  replaceBackupCodes(userId: number, hashes: readonly string[], createdAt: number): Promise<void>;
  /**
   * Marks one unused backup code among the candidates used (one candidate for each secret in use).
   * False when there is none.
   */
  useBackupCode(userId: number, candidateHashes: readonly string[], now: number): Promise<boolean>;
  countBackupCodes(userId: number): Promise<number>;
}

export type NewPasskey = Omit<PasskeyRecord, 'id' | 'lastUsedAt'>;
export interface PasskeyStore {
  /** `undefined` when this credential is already registered. */
  insert(passkey: NewPasskey): Promise<PasskeyRecord | undefined>;
  byCredentialId(credentialId: string): Promise<PasskeyRecord | undefined>;
  /** The oldest first. */
  list(userId: number): Promise<PasskeyRecord[]>;
  /**
   * Records a use in one statement that matches the counter as it was read. False when another use
   * came in between.
   */
  use(id: number, use: { expectedCounter: number; counter: number; backedUp: boolean; at: number }): Promise<boolean>;
  rename(id: number, userId: number, name: string): Promise<PasskeyRecord | undefined>;
  delete(id: number, userId: number): Promise<boolean>;
  /** Deletes all passkeys of a user; returns their number. */
  deleteAll(userId: number): Promise<number>;
}
