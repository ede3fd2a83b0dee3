/** Users and what administrators change of them. */
import type { Budget } from '../../kernel/index.ts';
import type { Page, Paged } from './paging.ts';

/** Users, how they sign in, and the keys they give to programs. Times are whole Unix seconds. */

export type Role = 1 | 10 | 100;

export const ROLE = { user: 1, admin: 10, root: 100 } as const satisfies Record<string, Role>;

/**
 * The status of users, API keys and channels. API keys are also shown as 3 (expired) and 4
 * (exhausted), which are computed and never stored.
 */
export type EnabledStatus = 1 | 2;

export const STATUS = { enabled: 1, disabled: 2 } as const satisfies Record<string, EnabledStatus>;

/** What an API key or a user may do, whatever their money; null: no such limit. */
export type OwnerLimits = {
  /** What they may submit within a minute. */
  requestsPerMinute: number | null;
  /** Their tasks that are sent at once; further ones wait. */
  maxRunning: number | null;
};

export type UserRecord = OwnerLimits & {
  id: number;
  username: string;
  displayName: string;
  /**
   * argon2id in PHC form; bcrypt for an imported account until its first sign-in; null for one that
   * signs in through a provider only.
   */
  passwordHash: string | null;
  role: Role;
  status: EnabledStatus;
  email: string | null;
  group: string;
  /** Their own wallet, whose the next three are. */
  walletId: number;
  /** The balance: the sum of the wallet's ledger lines. */
  quota: number;
  usedQuota: number;
  requestCount: number;
  language: string;
  authVersion: number;
  /** What they may spend in each period, whatever their balance is; null: no such limit. */
  budget: Budget | null;
  /** Part of every signed artifact link of the user. Links with another version are invalid. */
  linkVersion: number;
  createdAt: number;
  lastLoginAt: number;
};

/** A user as administrators see them. Deleted users are included, with most fields emptied. */
export type AdminUserRecord = UserRecord & {
  /** An administrator's note. */
  remark: string;
  /** The user whose affiliate code they registered with; 0: none. */
  inviterId: number;
  hasAccessToken: boolean;
  /** 0: not deleted. */
  deletedAt: number;
};

/** A personal access token as its owner may see it. Only the token's SHA-256 is stored. */
export type AccessTokenRecord = {
  /** `tgp_` and the first characters; empty for a token of an earlier layout. */
  prefix: string;
  /** 0 for a token of an earlier layout. */
  createdAt: number;
};

export type NewUser = Pick<
  UserRecord,
  'username' | 'displayName' | 'passwordHash' | 'role' | 'status' | 'email' | 'group' | 'language' | 'createdAt'
> &
  Partial<Pick<AdminUserRecord, 'inviterId' | 'remark'>> & { affCode?: string };

/**
 * Changes that leave rights and `auth_version` as they are. A new address needs its identity claim
 * in the same transaction.
 */
export type UserChange = Partial<
  Pick<
    AdminUserRecord,
    'username' | 'displayName' | 'email' | 'group' | 'language' | 'remark' | 'budget' | keyof OwnerLimits
  >
>;

/** Changes that end sessions. Nobody can become root. */
export type RightsChange = { role?: Exclude<Role, typeof ROLE.root>; status?: EnabledStatus; passwordHash?: string };

/** As the status in a `UserFilter`: deleted users only. */
export const DELETED = -1;

/** Every given field must match. Sorted by id, ascending, unless stated otherwise; ties by id. */
export type UserFilter = {
  /** A user's id, or a part of a username, display name or address, ignoring case. */
  keyword?: string;
  group?: string;
  role?: Role;
  /** Without a status the result includes deleted users; with an `EnabledStatus` it does not. */
  status?: EnabledStatus | typeof DELETED;
  sortBy?: 'id' | 'username' | 'quota' | 'group' | 'createdAt' | 'lastLoginAt';
  order?: 'asc' | 'desc';
  /** Only those whose id comes after this one in that order, for lists that are read in parts. */
  beyondId?: number;
};

export type SignInMethods = {
  twoFactor: boolean;
  /** How many passkeys. */
  passkeys: number;
  identities: { provider: string; subject: string }[];
};

/** `role`: what the token's user has now. */
export type UsableToken = { hash: string; role: Role };

export interface UserStore {
  /**
   * `undefined` when the name (ignoring case) or the affiliate code is taken. The balance starts at
   * 0 in a wallet of their own: grants are ledger lines.
   */
  insert(user: NewUser): Promise<UserRecord | undefined>;
  byId(id: number): Promise<UserRecord | undefined>;
  /**
   * What a user signs in with besides a password. Only an enabled second factor counts, not one
   * that is being set up. Identities are ordered by provider.
   */
  signInMethods(id: number): Promise<SignInMethods>;
  /**
   * By username, ignoring case, or by e-mail address. If two users share an address, the one who
   * owns its identity.
   */
  byNameOrAddress(login: string): Promise<UserRecord | undefined>;
  countByRole(role: number): Promise<number>;
  /**
   * Only in a transaction: locks these users until it ends and returns them by id, without deleted
   * ones. Lock all users of a transaction in one call, so that two transactions cannot deadlock.
   */
  lock(ids: readonly number[]): Promise<UserRecord[]>;
  /** The record after the change; `undefined` when there is no such user. */
  update(id: number, change: UserChange): Promise<UserRecord | 'name_taken' | undefined>;
  /**
   * Sets the password hash and `auth_version + 1` in one statement; `expectedAuthVersion` guards
   * against a concurrent change.
   */
  setPassword(id: number, passwordHash: string, expectedAuthVersion: number): Promise<boolean>;
  /** Another hash of the same password, if it is still `before`: sessions stay. */
  replaceHash(id: number, before: string, after: string): Promise<boolean>;
  /** `auth_version + 1` for a change that the same transaction writes elsewhere (a factor). */
  moveAuthVersion(id: number, expectedAuthVersion: number): Promise<boolean>;
  /**
   * Writes the change and `auth_version + 1` in one statement. False under the conditions of
   * `setPassword`, and for a change of root's role or a disabling of root.
   */
  administer(id: number, change: RightsChange, expectedAuthVersion: number): Promise<boolean>;
  /**
   * Reduces a user in one statement to the row that ledger and tasks refer to: disabled, with
   * `deletedAt`, `auth_version + 1` and the name `deleted:<id>`. Users cannot choose names with a
   * colon, so none collides. Display name, remark, language, address, password, token, affiliate
   * code and the provider columns of the earliest layout are emptied. False under the conditions of
   * `administer`.
   * Delete identities, keys, passkeys, factors, flows and sessions after it in the same
   * transaction: then nothing new can attach to the user.
   */
  softDelete(id: number, expectedAuthVersion: number, at: number): Promise<boolean>;
  /**
   * `link_version + 1`: invalidates every artifact link issued for the user so far. False when
   * there is no such user.
   */
  moveLinkVersion(id: number): Promise<boolean>;
  recordSignIn(id: number, at: number): Promise<void>;
  /** Which of `hashes` are personal access tokens of enabled users. */
  usableTokens(hashes: readonly string[]): Promise<UsableToken[]>;
  /** The user of a personal access token, by the token's SHA-256 in hex. */
  byAccessToken(hash: string): Promise<UserRecord | undefined>;
  /**
   * Replaces the user's only personal access token, or removes it (`null`). False when there is no
   * such user.
   */
  setAccessToken(id: number, token: (AccessTokenRecord & { hash: string }) | null): Promise<boolean>;
  findAccessToken(id: number): Promise<AccessTokenRecord | undefined>;
  byAffCode(affCode: string): Promise<UserRecord | undefined>;
  /**
   * Returns the user's affiliate code; sets it to `affCode` if they have none. `undefined` when
   * another user has that code, or there is no such user.
   */
  ensureAffCode(id: number, affCode: string): Promise<string | undefined>;
  /** Users who registered with this user's affiliate code, deleted ones included. */
  countInvited(id: number): Promise<number>;
  /** Includes deleted users. */
  adminById(id: number): Promise<AdminUserRecord | undefined>;
  search(filter: UserFilter, page: Page): Promise<Paged<AdminUserRecord>>;
}
