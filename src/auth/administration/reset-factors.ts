import type { Clock, Logger } from '../../kernel/index.ts';
import type { Repositories, UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';
import type { NoticeSubject } from '../mail/notice-texts.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { PanelPrincipal } from '../types.ts';
import { setEmail } from '../users/own-email.ts';
import type { WithLockedAccounts } from './with-locked-accounts.ts';

/**
 * Takes from another's account something that signs in or confirms. Without two-factor or passkeys
 * it is another account to protect, so `auth_version` moves and every session ends; a personal
 * access token and a binding move nothing. All reject as `WithLockedAccounts` does.
 */
export interface ResetFactors {
  /** Backup codes too. Rejects with `auth.two_factor_off` where there is none. */
  twoFactor(principal: PanelPrincipal, userId: number): Promise<void>;
  /** All of them; gives their number. Rejects with `auth.passkey_not_found` where there is none. */
  passkeys(principal: PanelPrincipal, userId: number): Promise<{ deleted: number }>;
  /** Nothing happens where there is none. */
  personalToken(principal: PanelPrincipal, userId: number): Promise<void>;
  /**
   * Frees the identity of one provider, or the mail address (`email`). Gives what it was; rejects
   * with `auth.binding_not_found` where there is none.
   */
  binding(principal: PanelPrincipal, userId: number, provider: string): Promise<{ subject: string }>;
}

export function createResetFactors(deps: {
  administer: WithLockedAccounts;
  clock: Clock;
  logger: Logger;
  notifyOwner: NotifyOwner;
}): ResetFactors {
  const { administer, clock, logger } = deps;

  const tell = (owner: UserRecord, about: NoticeSubject, provider = '') =>
    deps.notifyOwner(owner, { about, by: 'administrator', provider });

  /** `remove` gives how many it took away. */
  async function reset(
    principal: PanelPrincipal,
    userId: number,
    { reason, about }: { reason: string; about: NoticeSubject },
    remove: (tx: Repositories) => Promise<number>,
  ): Promise<number> {
    const intent = { userId, action: 'reset_factor', endsSessions: reason } as const;
    const { removed, owner } = await administer(principal, intent, async (tx, target, endSessions) => {
      const count = await remove(tx);
      await tx.users.moveAuthVersion(userId, target.authVersion);
      await endSessions();
      return { removed: count, owner: target };
    });
    await tell(owner, about);
    logger.info({ userId, reason, by: principal.user.id }, 'factors of an account reset');
    return removed;
  }

  return {
    async twoFactor(principal, userId) {
      const intent = { reason: 'admin_twofa_disabled', about: 'two_factor_disabled' } as const;
      await reset(principal, userId, intent, async (tx) => {
        if (!(await tx.twoFactor.delete(userId))) throw authErrors.two_factor_off();
        return 1;
      });
    },

    async passkeys(principal, userId) {
      const intent = { reason: 'admin_passkey_reset', about: 'passkey_removed' } as const;
      const deleted = await reset(principal, userId, intent, async (tx) => {
        const count = await tx.passkeys.deleteAll(userId);
        if (count === 0) throw authErrors.passkey_not_found({ message: 'The account has no passkey.' });
        return count;
      });
      return { deleted };
    },

    async personalToken(principal, userId) {
      const owner = await administer(principal, { userId, action: 'reset_factor' }, async (tx, target) => {
        const had = await tx.users.accessTokenOf(userId);
        await tx.users.setAccessToken(userId, null);
        return had && target;
      });
      if (owner) await tell(owner, 'personal_token_removed');
    },

    async binding(principal, userId, provider) {
      const { subject: freed, owner } = await administer(
        principal,
        { userId, action: 'reset_factor' },
        async (tx, target) => {
          const held = (await tx.identities.list(userId)).find((identity) => identity.provider === provider);
          // An address of an old database may be shown without being owned.
          const subject = held?.subject ?? (provider === MAIL_PROVIDER ? target.email : null);
          if (subject === null) throw authErrors.binding_not_found();
          if (provider === MAIL_PROVIDER) await setEmail(tx, userId, { email: null, at: clock.unix() });
          else await tx.identities.release(userId, provider);
          return { subject, owner: target };
        },
      );
      await tell(owner, provider === MAIL_PROVIDER ? 'address_removed' : 'identity_unbound', provider);
      return { subject: freed };
    },
  };
}
