import type { Repositories } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';

/**
 * Gives an account this address (in lower case) in place of the one it has, or takes that away
 * (`null`), in the caller's transaction: whose it is and what is shown go together. Rejects with
 * `auth.identity_taken` when the address is another's.
 */
export async function setEmail(
  tx: Repositories,
  userId: number,
  { email, at }: { email: string | null; at: number },
): Promise<void> {
  await tx.identities.release(userId, MAIL_PROVIDER);
  if (email !== null) {
    const verdict = await tx.identities.claim({ provider: MAIL_PROVIDER, subject: email, userId, createdAt: at });
    if (verdict !== 'ok') throw authErrors.identity_taken({ param: 'email', message: 'This address is taken.' });
  }
  await tx.users.update(userId, { email });
}
