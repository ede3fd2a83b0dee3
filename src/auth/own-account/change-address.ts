import { type Clock, type Logger, type SecretBox, sentence } from '../../kernel/index.ts';
import type { Repositories, Store, UserRecord } from '../../store/ports/index.ts';
import { requireSignInMethod } from '../accounts/last-sign-in-method.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { RequestLimit } from '../limits/limit-requests.ts';
import { assertAddressAllowed, requireMailAddress, setEmail } from '../mail/mail-address.ts';
import { MAIL_CODE_MINUTES, type MailCodes, type MailLimit } from '../mail/mail-codes.ts';
import { pickLanguage } from '../mail/mail-languages.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { type PanelPrincipal, type RequestOrigin, requireSession } from '../principals.ts';
import { allowedProofMethods, needsProof, PROOF_SCOPE } from '../proofs/proof-methods.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';

/** Dependencies of the operations in this file. */
export type AddressDeps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  secretBox: SecretBox;
  proofs: SecurityProofs;
  limitCodeRequests: RequestLimit;
  allowMail: MailLimit;
  mailQueue: MailQueue;
  notifyOwner: NotifyOwner;
  mailCodes: MailCodes;
};

/*
 * The email address of a signed-in user. Every operation rejects with `auth.session_required` for a
 * personal access token. Both changes need a Security Proof, since a mailed link to the address
 * opens the account. An account without any proof method, one of a provider only, needs none.
 */

/**
 * Emails a code to the new address. An address of another account gets a code too: only the reader
 * of that mailbox learns more.
 *
 * @throws `auth.method_disabled` while no email can be sent, `auth.validation_failed`,
 * `auth.rate_limited`.
 */
export async function sendAddressCode(
  ctx: Pick<AddressDeps, 'store' | 'settings' | 'limitCodeRequests' | 'allowMail' | 'mailQueue' | 'mailCodes'>,
  principal: PanelPrincipal,
  { email, origin }: { email: string; origin: RequestOrigin },
): Promise<void> {
  const { store, settings, limitCodeRequests, allowMail, mailCodes, mailQueue } = ctx;
  const { user } = requireSession(principal);
  const { mail, emails } = settings();
  if (!mail) throw authErrors.method_disabled({ message: sentence('auth.no_mail') });
  const address = requireMailAddress(email);
  assertAddressAllowed(address, emails);
  await limitCodeRequests(origin.decidingIp);
  if (!(await allowMail('bind', address))) return;
  const code = await mailCodes.issue(store, { purpose: 'email_bind', address, userId: user.id });
  mailQueue.post({
    to: address,
    language: pickLanguage(undefined, user.language),
    content: { kind: 'bind', code, minutes: MAIL_CODE_MINUTES },
  });
}

/**
 * Binds the address in place of the former one, which gets a notice. Sessions continue.
 *
 * @throws an error of the proof of the scope `account.email`, then `auth.code_invalid`, and only
 * after a right code `auth.identity_taken` or `auth.changed_meanwhile`.
 */
export async function bindAddress(
  ctx: Pick<AddressDeps, 'store' | 'clock' | 'logger' | 'settings' | 'proofs' | 'notifyOwner' | 'mailCodes'>,
  principal: PanelPrincipal,
  { email, code, proof }: { email: string; code: string; proof: string | undefined },
): Promise<{ email: string }> {
  const { store, clock, logger, mailCodes } = ctx;
  const { user } = requireSession(principal);
  const address = requireMailAddress(email);
  await requireProof(ctx, principal, proof);
  const verified = await mailCodes.check({ purpose: 'email_bind', address, userId: user.id }, code);
  const former = await store.transaction(async (tx) => {
    const before = await lockUnchanged(tx, user);
    await verified.consume(tx);
    await setEmail(tx, user.id, { email: address, at: clock.unix() });
    return before.email;
  });
  logger.info({ userId: user.id }, 'email address bound');
  if (former !== null && former.toLowerCase() !== address) {
    await ctx.notifyOwner({ ...user, email: former }, { about: 'address_changed', origin: principal.origin });
  }
  return { email: address };
}

/**
 * Removes the address from the account and sends it a notice.
 *
 * @throws an error of the proof, `auth.binding_not_found`, `auth.last_way_in`,
 * `auth.changed_meanwhile`.
 */
export async function unbindAddress(
  ctx: Pick<AddressDeps, 'store' | 'clock' | 'logger' | 'settings' | 'secretBox' | 'proofs' | 'notifyOwner'>,
  principal: PanelPrincipal,
  { proof }: { proof: string | undefined },
): Promise<void> {
  const { store, clock, logger, settings, secretBox } = ctx;
  const { user } = requireSession(principal);
  await requireProof(ctx, principal, proof);
  const former = await store.transaction(async (tx) => {
    const present = await lockUnchanged(tx, user);
    if (present.email === null) throw authErrors.binding_not_found();
    await requireSignInMethod(tx, present, { settings: settings(), secretBox });
    await setEmail(tx, user.id, { email: null, at: clock.unix() });
    return present.email;
  });
  logger.info({ userId: user.id }, 'email address unbound');
  await ctx.notifyOwner({ ...user, email: former }, { about: 'address_removed', origin: principal.origin });
}

async function requireProof(
  ctx: Pick<AddressDeps, 'store' | 'clock' | 'settings' | 'proofs'>,
  principal: PanelPrincipal,
  proof: string | undefined,
): Promise<void> {
  const scope = PROOF_SCOPE.accountEmail;
  const needed = needsProof(scope, await allowedProofMethods(ctx, principal, scope));
  if (needed) await ctx.proofs.require(principal, proof, scope);
}

/**
 * Locks the user's row, so that two changes of one address run one after the other.
 *
 * @throws `auth.changed_meanwhile` after a change of password or factor. The address opens the
 * account by a mailed link, so a caller authenticated before such a change must not set it.
 */
async function lockUnchanged(tx: Repositories, { id, authVersion }: UserRecord): Promise<UserRecord> {
  const [locked] = await tx.users.lock([id]);
  if (locked?.authVersion !== authVersion) throw authErrors.changed_meanwhile();
  return locked;
}
