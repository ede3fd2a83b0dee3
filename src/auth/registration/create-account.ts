import { type Clock, deriveKey, hmacSha256Hex } from '../../kernel/index.ts';
import { type Repositories, ROLE, type UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';

export type NewAccount = {
  username: string;
  displayName: string;
  /** null: the account signs in through a provider only. */
  passwordHash: string | null;
  /** A confirmed address in lower case, which is claimed; null: none. */
  email: string | null;
  /** With whom the account begins, where a provider vouches for him; the caller claims it. */
  identity?: { provider: string; subject: string };
  language: string;
  /** Somebody's affiliate code; one that is nobody's is ignored. */
  affCode: string | undefined;
};

/**
 * Makes a user with his address and the quota that he and whoever brought him get, in the caller's
 * transaction. One address or identity brings quota once: not again after its account was deleted.
 * Rejects with `auth.name_taken` and `auth.identity_taken`; both must undo the transaction.
 */
export type CreateAccount = (tx: Repositories, account: NewAccount) => Promise<UserRecord>;

export function createAccountCreation(deps: {
  clock: Clock;
  settings: () => AuthSettings;
  config: Pick<AuthConfig, 'cryptoSecrets'>;
}): CreateAccount {
  // Digested, so that the ledger of a deleted account does not tell whose it was.
  const digestKey = deriveKey(deps.config.cryptoSecrets[0], 'grants.v1');

  return async (tx, { affCode, identity, ...fields }) => {
    const now = deps.clock.unix();
    const { quotaForNewUser, quotaForInviter, quotaForInvitee } = deps.settings().registration;
    const inviter = affCode ? await tx.users.byAffCode(affCode) : undefined;
    const invited = inviter?.status === USER_ENABLED ? inviter : undefined;

    const user = await tx.users.insert({
      ...fields,
      role: ROLE.user,
      status: USER_ENABLED,
      group: 'default',
      createdAt: now,
      ...(invited ? { inviterId: invited.id } : {}),
    });
    if (!user) throw authErrors.name_taken({ param: 'username' });
    if (fields.email !== null) {
      const claim = { provider: MAIL_PROVIDER, subject: fields.email, userId: user.id, createdAt: now };
      if ((await tx.identities.claim(claim)) !== 'ok') throw authErrors.identity_taken();
    }

    const claimed =
      identity ?? (fields.email === null ? undefined : { provider: MAIL_PROVIDER, subject: fields.email });
    const person = claimed ? hmacSha256Hex(digestKey, `${claimed.provider}:${claimed.subject}`) : user.id;
    const grant = async (userId: number, reason: string, amount: number, note: string) => {
      if (amount === 0) return;
      await tx.ledger.grant({ userId, kind: 'grant', key: `${reason}:${person}`, amount, note, at: now });
    };
    await grant(user.id, 'new-user', quotaForNewUser, 'new account');
    if (invited) {
      await grant(user.id, 'invitee', quotaForInvitee, 'came with an affiliate code');
      await grant(invited.id, 'inviter', quotaForInviter, `brought user ${user.id}`);
    }
    return user;
  };
}
