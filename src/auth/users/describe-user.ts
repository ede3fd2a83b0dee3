import type { EnabledStatus, Role, UserRecord } from '../../store/ports/index.ts';

/** What a user has bound to the account besides a password. */
export type UserFactors = {
  twoFactor: boolean;
  /** How many passkeys. */
  passkeys: number;
  bindings: { provider: string; subject: string }[];
};

/** `data.user` of the login result and of `GET /api/user/self`. */
export type PanelUser = {
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
  has_password: boolean;
  two_factor: boolean;
  passkeys: number;
  bindings: { provider: string; subject: string }[];
};

/** The user as its owner may see it: no hash, no version, no credential. */
export function describeUser(user: UserRecord, factors: UserFactors): PanelUser {
  return {
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
    has_password: user.passwordHash !== null,
    two_factor: factors.twoFactor,
    passkeys: factors.passkeys,
    bindings: factors.bindings,
  };
}
