import type { EnabledStatus, Repositories, Role, UserRecord } from '../../store/ports/index.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';

/** Factors and bindings of an account, besides its password. */
export type UserFactors = {
  twoFactor: boolean;
  /** How many passkeys. */
  passkeys: number;
  bindings: { provider: string; subject: string }[];
};

/** The fields of an account that both its owner and administrators see. */
export type UserFields = {
  id: number;
  username: string;
  display_name: string;
  role: Role;
  status: EnabledStatus;
  email: string | null;
  group: string;
  /** The remaining balance; 500,000 = 1 USD. */
  quota: number;
  used_quota: number;
  request_count: number;
  language: string;
  has_password: boolean;
};

/** What an account signs in with, besides a password. */
export type FactorFields = {
  two_factor: boolean;
  passkeys: number;
  bindings: { provider: string; subject: string }[];
};

/** `data.user` of the login result and of `GET /api/user/self`. */
export type PanelUser = UserFields & FactorFields;

/** The account as its owner sees it. */
const describeUser = (user: UserRecord, factors: UserFactors): PanelUser => ({
  ...describeFields(user),
  ...describeFactors(factors),
});

/** Contains no hash, version or credential. */
export const describeFields = (user: UserRecord): UserFields => ({
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
});

export const describeFactors = ({ twoFactor, passkeys, bindings }: UserFactors): FactorFields => ({
  two_factor: twoFactor,
  passkeys,
  bindings,
});

export async function loadFactors(store: Repositories, userId: number): Promise<UserFactors> {
  const { twoFactor, passkeys, identities } = await store.users.signInMethods(userId);
  // An email address is stored as an identity too, but shown separately.
  return { twoFactor, passkeys, bindings: identities.filter(({ provider }) => provider !== MAIL_PROVIDER) };
}

export const loadPanelUser = async (store: Repositories, user: UserRecord): Promise<PanelUser> =>
  describeUser(user, await loadFactors(store, user.id));
