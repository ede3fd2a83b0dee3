import type { ApiKeyRecord, DefaultedFields } from './api-keys.ts';
import type { IdentityRecord, PasskeyRecord, TwoFactorRecord } from './sign-in.ts';
import type { UserRecord } from './users.ts';

/**
 * Rows taken from another gateway's database. `store.ts` states the rules for every implementation.
 * Call every method that writes inside a transaction.
 */

export type ImportedKind = 'run' | 'user' | 'channel' | 'provider' | 'price';

/** A user with their balance, which becomes one ledger line under `grantKey`. */
export type ImportedUser = Pick<
  UserRecord,
  | 'username'
  | 'displayName'
  | 'passwordHash'
  | 'role'
  | 'status'
  | 'email'
  | 'group'
  | 'quota'
  | 'usedQuota'
  | 'requestCount'
  | 'language'
  | 'createdAt'
  | 'lastLoginAt'
> & {
  /** Absent: the next free one. */
  id?: number;
  affCode: string | null;
  inviterId: number;
  remark: string;
};

export type ImportedKey = Omit<ApiKeyRecord, 'id' | 'lastUsedIp' | DefaultedFields>;

export type ImportedLine = { walletId: number; amount: number; grantKey: string; note: string; createdAt: number };

/** What a database may have already. All names in lower case. */
export type Existing = {
  usernames: string[];
  emails: string[];
  affCodes: string[];
  keyHashes: string[];
  credentialIds: string[];
  identities: Pick<IdentityRecord, 'provider' | 'subject'>[];
};

export interface ImportStore {
  /** The rows of a source that were imported, by their id there. `ids`: at most 1000 of them. */
  targets(source: string, kind: ImportedKind, ids: readonly string[]): Promise<Map<string, number>>;
  remember(
    source: string,
    kind: ImportedKind,
    rows: readonly { sourceId: string; targetId: number; createdAt: number }[],
  ): Promise<void>;
  /** Which of the values rows have already. Identities come as `provider\nsubject`. */
  existing(values: Existing): Promise<Record<keyof Existing, Set<string>>>;
  /** The highest id that a user has or had; 0: none. */
  lastUserId(): Promise<number>;
  /** No new user gets an id up to `last` by itself. */
  reserveUserIds(last: number): Promise<void>;
  /**
   * Ids of users and of their wallets by username. The balances need their ledger lines in the
   * same transaction.
   *
   * @throws `store.broken_invariant` when a name, code or id is taken
   */
  addUsers(users: readonly ImportedUser[]): Promise<Map<string, { userId: number; walletId: number }>>;
  /** @throws `store.broken_invariant` when a line with one of the keys exists */
  addLines(lines: readonly ImportedLine[]): Promise<void>;
  /** @throws `store.broken_invariant` when one exists */
  addKeys(keys: readonly ImportedKey[]): Promise<void>;
  /** @throws `store.broken_invariant` when one is claimed */
  addIdentities(identities: readonly IdentityRecord[]): Promise<void>;
  /** @throws `store.broken_invariant` when a user has one */
  addFactors(factors: readonly Pick<TwoFactorRecord, 'userId' | 'secretSealed' | 'createdAt'>[]): Promise<void>;
  /** @throws `store.broken_invariant` when one exists */
  addPasskeys(passkeys: readonly Omit<PasskeyRecord, 'id'>[]): Promise<void>;
  setInviters(rows: readonly { userId: number; inviterId: number }[]): Promise<void>;
}
