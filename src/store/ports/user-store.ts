/**
 * What the rooms may ask of the database about users. The rules for implementations are those of
 * `store.ts`.
 */
import type { AccessTokenRecord, AdminUserRecord, EnabledStatus, ROLE, Role, UserRecord } from './account-records.ts';
import type { Page, Paged } from './records.ts';

export type NewUser = Pick<
  UserRecord,
  'username' | 'displayName' | 'passwordHash' | 'role' | 'status' | 'email' | 'group' | 'language' | 'createdAt'
> &
  Partial<Pick<AdminUserRecord, 'inviterId' | 'remark'>> & { affCode?: string };

/**
 * What changes nobody's rights: it moves no `auth_version`. An address needs its claim in the same
 * transaction.
 */
export type UserChange = Partial<
  Pick<AdminUserRecord, 'username' | 'displayName' | 'email' | 'group' | 'language' | 'remark'>
>;

/** What ends sessions. Nobody becomes root. */
export type RightsChange = { role?: Exclude<Role, typeof ROLE.root>; status?: EnabledStatus; passwordHash?: string };

/** As a status in `UserFilter`: deleted users only. */
export const DELETED = -1;

/** What is named must hold. By id, ascending, unless said otherwise; equal ones by id. */
export type UserFilter = {
  /** A user's id, or a part of a user name, display name or address, ignoring case. */
  keyword?: string;
  group?: string;
  role?: Role;
  /** An `EnabledStatus` leaves deleted users out; without a status they are in. */
  status?: EnabledStatus | typeof DELETED;
  sortBy?: 'id' | 'username' | 'quota' | 'group' | 'createdAt' | 'lastLoginAt';
  order?: 'asc' | 'desc';
};

export interface UserStore {
  /**
   * `undefined` when the name is taken (ignoring case), or the affiliate code. The balance starts
   * at 0: grants are ledger lines.
   */
  insert(user: NewUser): Promise<UserRecord | undefined>;
  byId(id: number): Promise<UserRecord | undefined>;
  /**
   * By user name, ignoring case, or by e-mail address; of two users with one address the one who
   * owns it.
   */
  byLogin(login: string): Promise<UserRecord | undefined>;
  countByRole(role: number): Promise<number>;
  /**
   * Inside a transaction: these users by id, deleted ones left out, whom nobody else changes until
   * it ends. All that one transaction holds in one call, so that two never wait for each other
   * crosswise.
   */
  hold(ids: readonly number[]): Promise<UserRecord[]>;
  /** The record after the change; `undefined` when there is no such user. */
  update(id: number, change: UserChange): Promise<UserRecord | 'name_taken' | undefined>;
  /**
   * New password hash and `auth_version + 1` in one statement; `expectedAuthVersion` guards against
   * a concurrent change.
   */
  setPassword(id: number, passwordHash: string, expectedAuthVersion: number): Promise<boolean>;
  /**
   * `auth_version + 1` for a change that is written elsewhere in the same transaction (a factor).
   */
  moveAuthVersion(id: number, expectedAuthVersion: number): Promise<boolean>;
  /**
   * The change and `auth_version + 1` in one statement. False as `setPassword`, and for another
   * role for root or disabling him.
   */
  administer(id: number, change: RightsChange, expectedAuthVersion: number): Promise<boolean>;
  /**
   * Leaves of a user the row that ledger and tasks point to: disabled, `deletedAt` and
   * `auth_version + 1`, named `deleted:<id>` (no user may choose a name with a colon, so none is in
   * the way), without display name, remark, language, address, password, token, affiliate code and
   * the provider columns of the earliest layout, in one statement. False as `administer`.
   * Identities, keys, passkeys, factors, flows and sessions go after it in the same transaction:
   * nothing joins them any more then.
   */
  softDelete(id: number, expectedAuthVersion: number, at: number): Promise<boolean>;
  /**
   * `link_version + 1`: every artifact link of the user that was given out until now is dead.
   * False: no such user.
   */
  moveLinkVersion(id: number): Promise<boolean>;
  touchLogin(id: number, at: number): Promise<void>;
  /** Those of `ids` who are enabled and have a personal access token. */
  withAccessToken(ids: readonly number[]): Promise<number[]>;
  /** The user of a personal access token, by the token's SHA-256 in hex. */
  byAccessToken(hash: string): Promise<UserRecord | undefined>;
  /**
   * Replaces the user's one personal access token, or takes it away (`null`). False when there is
   * no such user.
   */
  setAccessToken(id: number, token: (AccessTokenRecord & { hash: string }) | null): Promise<boolean>;
  accessTokenOf(id: number): Promise<AccessTokenRecord | undefined>;
  byAffCode(affCode: string): Promise<UserRecord | undefined>;
  /**
   * The user's affiliate code, which `affCode` becomes if he has none. `undefined` when it is
   * somebody's, or there is no such user.
   */
  ensureAffCode(id: number, affCode: string): Promise<string | undefined>;
  /** Users who came with this one's affiliate code, deleted ones too. */
  countInvited(id: number): Promise<number>;
  /** Deleted ones too. */
  adminById(id: number): Promise<AdminUserRecord | undefined>;
  search(filter: UserFilter, page: Page): Promise<Paged<AdminUserRecord>>;
}
