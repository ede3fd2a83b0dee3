import type { AdminUserRecord, EnabledStatus, Role } from '../../store/ports/index.ts';
import type { UserFactors } from '../users/describe-user.ts';

/** An account as administrators see it in a list. Times are Unix seconds. */
export type AccountView = {
  id: number;
  username: string;
  display_name: string;
  role: Role;
  status: EnabledStatus;
  email: string | null;
  group: string;
  /** What is left; 500,000 = 1 USD. */
  quota: number;
  used_quota: number;
  request_count: number;
  language: string;
  remark: string;
  /** 0: nobody's affiliate code was used. */
  inviter_id: number;
  has_password: boolean;
  has_access_token: boolean;
  created_at: number;
  /** 0: never. */
  last_login_at: number;
  /** 0: not deleted. */
  deleted_at: number;
};

/** The same account by itself, with what it signs in with and how much of it there is. */
export type AccountDetail = AccountView & {
  two_factor: boolean;
  passkeys: number;
  bindings: { provider: string; subject: string }[];
  api_keys: number;
  /** Live sessions. */
  sessions: number;
  /** Accounts that came with this one's affiliate code. */
  invited: number;
};

/** No hash, no version, no credential. */
export const describeAccount = (user: AdminUserRecord): AccountView => ({
  id: user.id,
  username: user.username,
  display_name: user.displayName,
  role: user.role,
  status: user.status,
  email: user.email,
  group: user.group,
  quota: user.quota,
  used_quota: user.usedQuota,
  request_count: user.requestCount,
  language: user.language,
  remark: user.remark,
  inviter_id: user.inviterId,
  has_password: user.passwordHash !== null,
  has_access_token: user.hasAccessToken,
  created_at: user.createdAt,
  last_login_at: user.lastLoginAt,
  deleted_at: user.deletedAt,
});

export const describeFactors = ({ twoFactor, passkeys, bindings }: UserFactors) => ({
  two_factor: twoFactor,
  passkeys,
  bindings,
});
