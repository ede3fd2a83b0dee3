import { sentence } from '../../kernel/index.ts';
import type { Repositories } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';

/**
 * Replaces an account's mail address (in lower case), or removes it (`null`), in the caller's
 * transaction. Ownership and the displayed address change together.
 *
 * @throws `auth.identity_taken` when the address belongs to another account.
 */
export async function setEmail(
  tx: Repositories,
  userId: number,
  { email, at }: { email: string | null; at: number },
): Promise<void> {
  await tx.identities.release(userId, MAIL_PROVIDER);
  if (email !== null) {
    const verdict = await tx.identities.claim({ provider: MAIL_PROVIDER, subject: email, userId, createdAt: at });
    if (verdict !== 'ok') throw authErrors.identity_taken({ param: 'email', message: sentence('auth.address_taken') });
  }
  await tx.users.update(userId, { email });
}
