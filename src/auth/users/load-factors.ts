import type { Repositories, UserRecord } from '../../store/ports/index.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';
import { describeUser, type PanelUser, type UserFactors } from './describe-user.ts';

export async function loadFactors(store: Repositories, userId: number): Promise<UserFactors> {
  const { twoFactor, passkeys, identities } = await store.users.signInMethods(userId);
  // A mail address is stored as an identity too, but shown separately.
  return { twoFactor, passkeys, bindings: identities.filter(({ provider }) => provider !== MAIL_PROVIDER) };
}

export const loadPanelUser = async (store: Repositories, user: UserRecord): Promise<PanelUser> =>
  describeUser(user, await loadFactors(store, user.id));
