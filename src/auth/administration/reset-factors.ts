import type { Clock, Logger } from '../../kernel/index.ts';
import type { Repositories } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';
import type { PanelPrincipal } from '../types.ts';
import { setEmail } from '../users/own-email.ts';
import type { Administer } from './administer.ts';

/**
 * Takes from another's account something that signs in or confirms. Without two-factor or passkeys it is another account to protect, so
 * `auth_version` moves and every session ends; a personal access token and a binding move nothing. All reject as `Administer` does.
 */
export interface ResetFactors {
  /** Backup codes too. Rejects with `auth.two_factor_off` where there is none. */
  twoFactor(principal: PanelPrincipal, userId: number): Promise<void>;
  /** All of them; gives their number. Rejects with `auth.passkey_not_found` where there is none. */
  passkeys(principal: PanelPrincipal, userId: number): Promise<{ deleted: number }>;
  /** Nothing happens where there is none. */
  personalToken(principal: PanelPrincipal, userId: number): Promise<void>;
  /**
   * Frees the identity of one provider, or the mail address (`email`). Gives what it was; rejects with `auth.binding_not_found` where
   * there is none.
   */
  binding(principal: PanelPrincipal, userId: number, provider: string): Promise<{ subject: string }>;
}

export function createResetFactors(deps: { administer: Administer; clock: Clock; logger: Logger }): ResetFactors {
  const { administer, clock, logger } = deps;

  /** `remove` gives how many it took away. */
  async function reset(
    principal: PanelPrincipal,
    userId: number,
    reason: string,
    remove: (tx: Repositories) => Promise<number>,
  ): Promise<number> {
    const intent = { userId, action: 'reset_factor', endsSessions: reason } as const;
    const removed = await administer(principal, intent, async (tx, target, endSessions) => {
      const count = await remove(tx);
      await tx.users.moveAuthVersion(userId, target.authVersion);
      await endSessions();
      return count;
    });
    logger.info({ userId, reason, by: principal.user.id }, 'factors of an account reset');
    return removed;
  }

  return {
    async twoFactor(principal, userId) {
      await reset(principal, userId, 'admin_twofa_disabled', async (tx) => {
        if (!(await tx.twoFactor.delete(userId))) throw authErrors.two_factor_off();
        return 1;
      });
    },

    async passkeys(principal, userId) {
      const deleted = await reset(principal, userId, 'admin_passkey_reset', async (tx) => {
        const count = await tx.passkeys.deleteAll(userId);
        if (count === 0) throw authErrors.passkey_not_found({ message: 'The account has no passkey.' });
        return count;
      });
      return { deleted };
    },

    async personalToken(principal, userId) {
      await administer(principal, { userId, action: 'reset_factor' }, (tx) => tx.users.setAccessToken(userId, null));
    },

    async binding(principal, userId, provider) {
      return administer(principal, { userId, action: 'reset_factor' }, async (tx, target) => {
        const held = (await tx.identities.list(userId)).find((identity) => identity.provider === provider);
        // An address of an old database may be shown without being owned.
        const subject = held?.subject ?? (provider === MAIL_PROVIDER ? target.email : null);
        if (subject === null) throw authErrors.binding_not_found();
        if (provider === MAIL_PROVIDER) await setEmail(tx, userId, { email: null, at: clock.unix() });
        else await tx.identities.release(userId, provider);
        return { subject };
      });
    },
  };
}
