import type { Logger } from '../../kernel/index.ts';
import type { Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { MailLimit } from '../mail/limit-mails.ts';
import { MAIL_PROVIDER, readMailAddress, requireMailAddress } from '../mail/mail-address.ts';
import { MAIL_CODE_MINUTES, type MailCodes } from '../mail/mail-codes.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { Outbox } from '../mail/outbox.ts';
import { pickLanguage } from '../mail/pick-language.ts';
import type { CodeRequest } from '../registration/send-verification.ts';
import type { VerifyCaptcha } from '../registration/verify-captcha.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import type { SessionGate } from '../sessions/session-gate.ts';
import type { RequestOrigin } from '../types.ts';
import { validateNewPassword } from '../users/validate-account.ts';
import type { PasswordHashes } from './password-hashes.ts';

export type MailedReset = {
  email: string;
  /** From the link. */
  token: string;
  password: string;
  acceptLanguage?: string;
  origin: RequestOrigin;
};

/** Whose password it was. */
export type MailedResetDone = { userId: number; username: string };

export interface ResetByMail {
  /**
   * Mails a link to the owner of an address. Answers alike, in body and in time, whether there is
   * one: the same statements run. Rejects with `auth.method_disabled` while no mail can be sent,
   * `auth.validation_failed`, `auth.challenge_failed`.
   */
  request(request: CodeRequest): Promise<void>;
  /**
   * Sets the password that the user has typed; every session ends, `auth_version` moves, a second
   * factor stays and is asked for at the next sign-in. The link is used up with it, once. Rejects
   * with `auth.flow_invalid`, for an unknown address as for a wrong token, `auth.validation_failed`
   * (the link stays), `auth.changed_meanwhile`.
   */
  finish(reset: MailedReset): Promise<MailedResetDone>;
}

export function createResetByMail(deps: {
  store: Store;
  logger: Logger;
  settings: () => AuthSettings;
  passwords: PasswordHashes;
  sessions: SessionGate;
  allowLetter: MailLimit;
  verifyCaptcha: VerifyCaptcha;
  mailCodes: MailCodes;
  outbox: Outbox;
  notifyOwner: NotifyOwner;
}): ResetByMail {
  const { store, logger, settings, passwords, sessions, allowLetter, verifyCaptcha, mailCodes, outbox, notifyOwner } =
    deps;
  const holder = (address: string) => ({ purpose: 'password_reset', address, userId: 0 }) as const;

  /** The enabled user who owns an address. Two statements, whatever there is. */
  async function findOwner(address: string): Promise<UserRecord | undefined> {
    const owner = await store.identities.owner(MAIL_PROVIDER, address);
    const user = await store.users.byId(owner?.userId ?? 0);
    return user?.status === USER_ENABLED ? user : undefined;
  }

  return {
    async request({ email, challengeToken, acceptLanguage, origin }) {
      const { mail, serverAddress } = settings();
      if (!mail) throw authErrors.method_disabled({ message: 'No mail is sent here: ask the administrator.' });
      const address = requireMailAddress(email);
      await verifyCaptcha({ token: challengeToken, ip: origin.ip });
      if (!(await allowLetter('reset', address))) return;

      const user = await findOwner(address);
      // Made for an unknown address too, of nobody and told to nobody: what is written takes its
      // time.
      const token = await mailCodes.issue(store, holder(address), {
        user_id: user?.id ?? 0,
        auth_version: user?.authVersion ?? 0,
      });
      if (!user) return;
      const link = `${serverAddress}/user/reset?${new URLSearchParams({ email: address, token })}`;
      outbox.post({
        to: address,
        language: pickLanguage(acceptLanguage, user.language),
        content: { kind: 'reset', username: user.username, link, minutes: MAIL_CODE_MINUTES },
      });
    },

    async finish({ email, token, password, origin }) {
      const address = readMailAddress(email);
      if (address === undefined) throw authErrors.flow_invalid();
      const link = await mailCodes.check(holder(address), token);
      // Since the link was sent the address may have gone to another account, or off this one; or
      // the account has changed in what matters for security, and whoever did that made old links
      // worthless.
      const user = await findOwner(address);
      const { user_id, auth_version } = link.flow.payload;
      if (!user || user.id !== user_id || user.authVersion !== auth_version) throw authErrors.flow_invalid();
      await validateNewPassword(password, user.username);
      const passwordHash = await passwords.hash(password);

      const ending = { userId: user.id, exceptSid: null, reason: 'password_reset' };
      await sessions.endAll(ending, (end) =>
        store.transaction(async (tx) => {
          await link.take(tx);
          const owner = await tx.identities.owner(MAIL_PROVIDER, address);
          const moved =
            owner?.userId === user.id && (await tx.users.setPassword(user.id, passwordHash, user.authVersion));
          if (!moved) throw authErrors.changed_meanwhile();
          await end(tx);
        }),
      );
      logger.warn({ userId: user.id, ip: origin.ip }, 'password reset by a mailed link, all sessions ended');
      await notifyOwner({ ...user, email: address }, { about: 'password_reset', origin });
      return { userId: user.id, username: user.username };
    },
  };
}
