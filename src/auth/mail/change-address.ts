import type { Clock, Logger } from '../../kernel/index.ts';
import type { Repositories, Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { RequestLimit } from '../limits/limit-requests.ts';
import { type AllowedProofMethods, needsProof } from '../proofs/allowed-methods.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import { hasSignInMethod } from '../users/has-sign-in-method.ts';
import { setEmail } from '../users/own-email.ts';
import type { MailLimit } from './limit-mails.ts';
import { assertAddressAllowed, requireMailAddress } from './mail-address.ts';
import { MAIL_CODE_MINUTES, type MailCodes } from './mail-codes.ts';
import type { NotifyOwner } from './notify-owner.ts';
import type { Outbox } from './outbox.ts';
import { pickLanguage } from './pick-language.ts';

/**
 * The mail address of a signed-in user. Each rejects with `auth.session_required` for a personal
 * access token. Both changes take a Security Proof: the address opens the account by a mailed link.
 * An account with nothing to prove oneself by, one of a provider alone, goes without.
 */
export interface ChangeAddress {
  /**
   * Mails a code to the address that is to be his. Another account's address gets one too: only
   * whoever reads that mailbox learns more. Rejects with `auth.method_disabled` while no mail can
   * be sent, `auth.validation_failed`, `auth.rate_limited`.
   */
  sendCode(principal: PanelPrincipal, request: { email: string; origin: RequestOrigin }): Promise<void>;
  /**
   * Gives him the address in place of the one before, which is told; sessions go on. Rejects with
   * what is wrong with the proof of the scope `account.email`, then `auth.code_invalid`, and only
   * after a right code with `auth.identity_taken` or `auth.changed_meanwhile`.
   */
  bind(
    principal: PanelPrincipal,
    request: { email: string; code: string; proof: string | undefined },
  ): Promise<{ email: string }>;
  /**
   * Takes the address off the account, and tells it. Rejects with what is wrong with the proof,
   * `auth.binding_not_found`, `auth.last_way_in`, `auth.changed_meanwhile`.
   */
  unbind(principal: PanelPrincipal, request: { proof: string | undefined }): Promise<void>;
}

export function createChangeAddress(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  limitCodeRequests: RequestLimit;
  allowLetter: MailLimit;
  mailCodes: MailCodes;
  outbox: Outbox;
  notifyOwner: NotifyOwner;
  proofs: SecurityProofs;
  allowedProofMethods: AllowedProofMethods;
}): ChangeAddress {
  const { store, clock, logger, settings, limitCodeRequests, allowLetter, mailCodes, outbox, notifyOwner } = deps;

  async function requireProof(principal: PanelPrincipal, proof: string | undefined): Promise<void> {
    const needed = needsProof('account.email', await deps.allowedProofMethods(principal, 'account.email'));
    if (needed) await deps.proofs.require(principal, proof, 'account.email');
  }

  return {
    async sendCode(principal, { email, origin }) {
      const { user } = requireSession(principal);
      const { mail, emails } = settings();
      if (!mail) throw authErrors.method_disabled({ message: 'No mail is sent here: ask the administrator.' });
      const address = requireMailAddress(email);
      assertAddressAllowed(address, emails);
      await limitCodeRequests(origin.decidingIp);
      if (!(await allowLetter('bind', address))) return;
      const code = await mailCodes.issue(store, { purpose: 'email_bind', address, userId: user.id });
      outbox.post({
        to: address,
        language: pickLanguage(undefined, user.language),
        content: { kind: 'bind', code, minutes: MAIL_CODE_MINUTES },
      });
    },

    async bind(principal, { email, code, proof }) {
      const { user } = requireSession(principal);
      const address = requireMailAddress(email);
      await requireProof(principal, proof);
      const right = await mailCodes.check({ purpose: 'email_bind', address, userId: user.id }, code);
      const former = await store.transaction(async (tx) => {
        const before = await holdUnchanged(tx, user);
        await right.take(tx);
        await setEmail(tx, user.id, { email: address, at: clock.unix() });
        return before.email;
      });
      logger.info({ userId: user.id }, 'mail address bound');
      if (former !== null && former.toLowerCase() !== address) {
        await notifyOwner({ ...user, email: former }, { about: 'address_changed', origin: principal.origin });
      }
      return { email: address };
    },

    async unbind(principal, { proof }) {
      const { user } = requireSession(principal);
      await requireProof(principal, proof);
      const former = await store.transaction(async (tx) => {
        const now = await holdUnchanged(tx, user);
        if (now.email === null) throw authErrors.binding_not_found();
        if (!(await hasSignInMethod(tx, now, settings()))) throw authErrors.last_way_in();
        await setEmail(tx, user.id, { email: null, at: clock.unix() });
        return now.email;
      });
      logger.info({ userId: user.id }, 'mail address unbound');
      await notifyOwner({ ...user, email: former }, { about: 'address_removed', origin: principal.origin });
    },
  };
}

/**
 * The user's row, held, so that two changes of one address follow each other. An address opens the
 * account by a mailed link: whoever was let in before a password or a factor changed gives it none
 * afterwards.
 */
async function holdUnchanged(tx: Repositories, { id, authVersion }: UserRecord): Promise<UserRecord> {
  const [held] = await tx.users.hold([id]);
  if (held?.authVersion !== authVersion) throw authErrors.changed_meanwhile();
  return held;
}
