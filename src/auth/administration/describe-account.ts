import type { AdminUserRecord } from '../../store/ports/index.ts';
import { describeFields, type FactorFields, type UserFields } from '../users/describe-user.ts';

/** An account as administrators see it in a list. Times are Unix seconds. */
export type AccountView = UserFields & {
  remark: string;
  /** 0: the account used no affiliate code. */
  inviter_id: number;
  has_access_token: boolean;
  created_at: number;
  /** 0: never. */
  last_login_at: number;
  /** 0: not deleted. */
  deleted_at: number;
};

/** A single account, with its factors, bindings and counts. */
export type AccountDetail = AccountView &
  FactorFields & {
    api_keys: number;
    /** Live sessions. */
    sessions: number;
    /** Accounts that used this one's affiliate code. */
    invited: number;
  };

/** Contains no hash, version or credential. */
export const describeAccount = (user: AdminUserRecord): AccountView => ({
  ...describeFields(user),
  remark: user.remark,
  inviter_id: user.inviterId,
  has_access_token: user.hasAccessToken,
  created_at: user.createdAt,
  last_login_at: user.lastLoginAt,
  deleted_at: user.deletedAt,
});
