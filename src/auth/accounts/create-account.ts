import { type Clock, deriveKey, hmacSha256Hex, randomAlnum, type Sentence, sentence } from '../../kernel/index.ts';
import { type Repositories, ROLE, STATUS, type Store, type UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';
import type { PanelPrincipal } from '../principals.ts';

export type NewAccount = {
  username: string;
  displayName: string;
  /** null: the account signs in through a provider only. */
  passwordHash: string | null;
  /** A confirmed address in lower case, which this function claims; null: none. */
  email: string | null;
  /** The identity at a provider that the account begins with; the caller claims it. */
  identity?: { provider: string; subject: string };
  language: string;
  /** Another user's affiliate code; an unknown one is ignored. */
  affCode: string | undefined;
};

/**
 * Creates a user with their email address and grants the quota for them and their inviter, in the
 * caller's transaction. One address or identity earns quota once, even after its account was
 * deleted. A user whom an administrator adds is created in `administration/create-user.ts`.
 *
 * @throws `auth.name_taken` and `auth.identity_taken`; both must roll the transaction back.
 */
export async function createAccount(
  { clock, settings, config }: { clock: Clock; config: AuthConfig; settings: () => AuthSettings },
  tx: Repositories,
  { affCode, identity, ...fields }: NewAccount,
): Promise<UserRecord> {
  const now = clock.unix();
  const { quotaForNewUser, quotaForInviter, quotaForInvitee } = settings().registration;
  const owner = affCode ? await tx.users.byAffCode(affCode) : undefined;
  const inviter = owner?.status === STATUS.enabled ? owner : undefined;

  const user = await tx.users.insert({
    ...fields,
    role: ROLE.user,
    status: STATUS.enabled,
    group: 'default',
    createdAt: now,
    ...(inviter ? { inviterId: inviter.id } : {}),
  });
  if (!user) throw authErrors.name_taken({ param: 'username' });
  if (fields.email !== null) {
    const claim = { provider: MAIL_PROVIDER, subject: fields.email, userId: user.id, createdAt: now };
    if ((await tx.identities.claim(claim)) !== 'ok') throw authErrors.identity_taken();
  }

  const claimed = identity ?? (fields.email === null ? undefined : { provider: MAIL_PROVIDER, subject: fields.email });
  // Digested, so that the ledger of a deleted account does not reveal its owner. The digests under
  // former secrets count too: a changed secret gives nobody quota again.
  const [person, ...formerly] = claimed
    ? config.cryptoSecrets.map((secret) =>
        hmacSha256Hex(deriveKey(secret, 'grants.v1'), `${claimed.provider}:${claimed.subject}`),
      )
    : [user.id];
  const grant = async (line: { walletId: number; reason: string; amount: number; note: Sentence }) => {
    const { walletId, reason, amount, note } = line;
    if (amount === 0) return;
    for (const former of formerly) if (await tx.ledger.byGrantKey(`${reason}:${former}`)) return;
    await tx.ledger.grant({ walletId, kind: 'grant', key: `${reason}:${person}`, amount, note, at: now });
  };
  await grant({
    walletId: user.walletId,
    reason: 'new-user',
    amount: quotaForNewUser,
    note: sentence('ledger.new_account'),
  });
  if (inviter) {
    const note = sentence('ledger.affiliate');
    await grant({ walletId: user.walletId, reason: 'invitee', amount: quotaForInvitee, note });
    await grant({
      walletId: inviter.walletId,
      reason: 'inviter',
      amount: quotaForInviter,
      note: sentence('ledger.brought', { user: user.id }),
    });
  }
  return user;
}

/** Short enough to share, and not secret. A collision is retried. */
const LENGTH = 8;
const MAX_TRIES = 5;

/**
 * The caller's affiliate code, created at the first request.
 *
 * @throws `auth.user_not_found`
 */
export async function ensureAffiliateCode({ store }: { store: Store }, { user }: PanelPrincipal): Promise<string> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const code = await store.users.ensureAffCode(user.id, randomAlnum(LENGTH));
    if (code !== undefined) return code;
  }
  throw authErrors.user_not_found();
}
