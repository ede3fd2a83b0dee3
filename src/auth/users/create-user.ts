import type { Clock } from '../../kernel/index.ts';
import { type Repositories, ROLE, type UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';

export type NewAccount = {
  /** Of the form that `validateUsername` allows. */
  username: string;
  displayName: string;
  /** null: signs in through a provider only. */
  passwordHash: string | null;
  language: string;
  /** Whose affiliate code it came with; a code of nobody counts as none. */
  affCode: string;
};

/**
 * Makes an ordinary account in the caller's transaction, with what registration grants: to it, and where it came with an affiliate
 * code to both sides. `undefined` when the name is taken: then nothing was written. It has no address yet (`claimAddress`).
 */
export type CreateUser = (tx: Repositories, account: NewAccount) => Promise<UserRecord | undefined>;

export function createCreateUser(deps: { clock: Clock; settings: () => AuthSettings }): CreateUser {
  const { clock, settings } = deps;

  return async (tx, { affCode, ...account }) => {
    const { quotaForNewUser, quotaForInviter, quotaForInvitee } = settings().registration;
    const now = clock.unix();
    const inviter = affCode === '' ? undefined : await tx.users.byAffCode(affCode);
    const user = await tx.users.insert({
      ...account,
      role: ROLE.user,
      status: USER_ENABLED,
      email: null,
      group: 'default',
      createdAt: now,
      ...(inviter ? { inviterId: inviter.id } : {}),
    });
    if (!user) return undefined;

    const grant = async (userId: number, key: string, amount: number, note: string) => {
      if (amount > 0) await tx.ledger.grant({ userId, kind: 'grant', key, amount, note, at: now });
    };
    await grant(user.id, `register:${user.id}`, quotaForNewUser, 'new account');
    if (inviter) {
      await grant(user.id, `invitee:${user.id}`, quotaForInvitee, 'came with an affiliate code');
      await grant(inviter.id, `inviter:${user.id}`, quotaForInviter, 'an account was made with the affiliate code');
    }
    return user;
  };
}

/** Addresses are identities of this provider, in lower case. */
const EMAIL = 'email';

/**
 * Gives a user without an address this one, in the caller's transaction. False when it belongs to somebody, or to this user under
 * another spelling: then nothing was written.
 */
export async function claimAddress(tx: Repositories, user: UserRecord, address: string, now: number): Promise<boolean> {
  const claimed = await tx.identities.claim({
    provider: EMAIL,
    subject: address.toLowerCase(),
    userId: user.id,
    createdAt: now,
  });
  if (claimed !== 'ok') return false;
  return typeof (await tx.users.update(user.id, { email: address })) === 'object';
}
