import type { AdminUserRecord } from '../../store/ports/index.ts';
import { describeFields, type FactorFields, type UserFields } from '../users/describe-user.ts';

/** An account as administrators see it in a list. Times are Unix seconds. */
export type AccountView = UserFields & {
  remark: string;
  /** 0: nobody's affiliate code was used. */
  inviter_id: number;
  has_access_token: boolean;
  created_at: number;
  /** 0: never. */
  last_login_at: number;
  /** 0: not deleted. */
  deleted_at: number;
};

/** The same account by itself, with what it signs in with and how much of it there is. */
export type AccountDetail = AccountView &
  FactorFields & {
    api_keys: number;
    /** Live sessions. */
    sessions: number;
    /** Accounts that came with this one's affiliate code. */
    invited: number;
  };

/** No hash, no version, no credential. */
export const describeAccount = (user: AdminUserRecord): AccountView => ({
  ...describeFields(user),
  remark: user.remark,
  inviter_id: user.inviterId,
  has_access_token: user.hasAccessToken,
  created_at: user.createdAt,
  last_login_at: user.lastLoginAt,
  deleted_at: user.deletedAt,
});
