import { sentence } from '../../kernel/index.ts';
import type { Repositories } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors, invalidField } from '../errors.ts';

/** The length of an identity's subject. */
export const MAX_ADDRESS = 128;
/**
 * RFC 5321 4.1.2 without quoted local parts, RFC 1035 2.3.1 for the labels of the domain. ASCII
 * only: the database must not tell two spellings of one mailbox apart, and people must be able to
 * tell two mailboxes apart.
 */
const ADDRESS =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const MAX_LOCAL_PART = 64;

/** Email addresses are stored as identities of this provider. */
export const MAIL_PROVIDER = 'email';

/**
 * An email address as it is compared and stored: trimmed, in lower case. `undefined` if invalid.
 */
export function readMailAddress(text: string): string | undefined {
  const address = text.trim().toLowerCase();
  const fits = address.length <= MAX_ADDRESS && address.indexOf('@') <= MAX_LOCAL_PART;
  return fits && ADDRESS.test(address) ? address : undefined;
}

/**
 * Does the same for required addresses.
 *
 * @throws `auth.validation_failed` naming `email`
 */
export function requireMailAddress(text: string): string {
  const address = readMailAddress(text);
  if (address === undefined) throw invalidField('email', sentence('auth.mail_address'));
  return address;
}

/** @throws `auth.validation_failed` for an address that the administrator's rules do not allow. */
export function assertAddressAllowed(address: string, { domains, refuseAliases }: AuthSettings['emails']): void {
  const at = address.lastIndexOf('@');
  if (domains !== undefined && !domains.includes(address.slice(at + 1))) {
    throw invalidField('email', sentence('auth.mail_domain'));
  }
  if (refuseAliases && /[+.]/.test(address.slice(0, at))) {
    throw invalidField('email', sentence('auth.mail_alias'));
  }
}

/**
 * Replaces an account's email address (in lower case), or removes it (`null`), in the caller's
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
