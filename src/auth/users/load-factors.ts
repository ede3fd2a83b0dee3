import type { Repositories, UserRecord } from '../../store/ports/index.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';
import { describeUser, type PanelUser, type UserFactors } from './describe-user.ts';

/** Only an enabled second factor counts, not one that is being set up. */
export async function loadFactors(store: Repositories, userId: number): Promise<UserFactors> {
  const [twoFactor, passkeys, identities] = await Promise.all([
    store.twoFactor.byUser(userId),
    store.passkeys.list(userId),
    store.identities.list(userId),
  ]);
  return {
    twoFactor: twoFactor?.enabled ?? false,
    passkeys: passkeys.length,
    // A mail address is stored as an identity too, but shown separately.
    bindings: identities
      .filter(({ provider }) => provider !== MAIL_PROVIDER)
      .map(({ provider, subject }) => ({ provider, subject })),
  };
}

export const loadPanelUser = async (store: Repositories, user: UserRecord): Promise<PanelUser> =>
  describeUser(user, await loadFactors(store, user.id));
