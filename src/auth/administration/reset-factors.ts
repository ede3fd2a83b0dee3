import { type Clock, type Logger, sentence } from '../../kernel/index.ts';
import type { Repositories, Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER, setEmail } from '../mail/mail-address.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { NoticeSubject } from '../mail/types.ts';
import type { PanelPrincipal } from '../principals.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import { withLockedAccounts } from './with-locked-accounts.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  sessions: SessionRegistry;
  notifyOwner: NotifyOwner;
};

/*
 * Removes from another account something that signs in or confirms. Removing two-factor or passkeys
 * advances `auth_version` and ends every session; removing a personal access token or a binding
 * does not. All throw what `withLockedAccounts` throws.
 */

/**
 * Removes two-factor and its backup codes.
 *
 * @throws also `auth.two_factor_off` when it is not enabled.
 */
export async function resetTwoFactor(
  ctx: Pick<Deps, 'store' | 'logger' | 'sessions' | 'notifyOwner'>,
  principal: PanelPrincipal,
  userId: number,
): Promise<void> {
  const reset = { principal, userId, reason: 'admin_twofa_disabled', about: 'two_factor_disabled' } as const;
  await resetFactor(ctx, reset, async (tx) => {
    if (!(await tx.twoFactor.byUser(userId))?.enabled) throw authErrors.two_factor_off();
    await tx.twoFactor.delete(userId);
    return 1;
  });
}

/**
 * Removes all passkeys and gives their number.
 *
 * @throws also `auth.passkey_not_found` when there is none.
 */
export async function resetPasskeys(
  ctx: Pick<Deps, 'store' | 'logger' | 'sessions' | 'notifyOwner'>,
  principal: PanelPrincipal,
  userId: number,
): Promise<{ deleted: number }> {
  const reset = { principal, userId, reason: 'admin_passkey_reset', about: 'passkey_removed' } as const;
  const deleted = await resetFactor(ctx, reset, async (tx) => {
    const count = await tx.passkeys.deleteAll(userId);
    if (count === 0) throw authErrors.passkey_not_found({ message: sentence('auth.no_passkey') });
    return count;
  });
  return { deleted };
}

/** Removes the personal access token, if there is one. */
export async function resetPersonalToken(
  ctx: { store: Store; sessions: SessionRegistry; notifyOwner: NotifyOwner },
  principal: PanelPrincipal,
  userId: number,
): Promise<void> {
  const intent = { principal, userId, action: 'reset_factor' } as const;
  const owner = await withLockedAccounts(ctx, intent, async ({ tx, target }) => {
    const had = await tx.users.findAccessToken(userId);
    await tx.users.setAccessToken(userId, null);
    return had && target;
  });
  if (owner) await ctx.notifyOwner(owner, toNotice('personal_token_removed'));
}

/**
 * Removes the identity of one provider, or the email address (`email`), and gives its subject.
 *
 * @throws also `auth.binding_not_found` when there is none.
 */
export async function resetBinding(
  ctx: Pick<Deps, 'store' | 'clock' | 'sessions' | 'notifyOwner'>,
  principal: PanelPrincipal,
  { userId, provider }: { userId: number; provider: string },
): Promise<{ subject: string }> {
  const intent = { principal, userId, action: 'reset_factor' } as const;
  const { subject, owner } = await withLockedAccounts(ctx, intent, async ({ tx, target }) => {
    const bound = (await tx.identities.list(userId)).find((identity) => identity.provider === provider);
    // An old database may show an address that the account does not own.
    const removed = bound?.subject ?? (provider === MAIL_PROVIDER ? target.email : null);
    if (removed === null) throw authErrors.binding_not_found();
    if (provider === MAIL_PROVIDER) await setEmail(tx, userId, { email: null, at: ctx.clock.unix() });
    else await tx.identities.release(userId, provider);
    return { subject: removed, owner: target };
  });
  const about = provider === MAIL_PROVIDER ? 'address_removed' : 'identity_unbound';
  await ctx.notifyOwner(owner, toNotice(about, provider));
  return { subject };
}

type FactorReset = { principal: PanelPrincipal; userId: number; reason: string; about: NoticeSubject };

/** `remove` gives how many it removed. */
async function resetFactor(
  ctx: Pick<Deps, 'store' | 'logger' | 'sessions' | 'notifyOwner'>,
  { principal, userId, reason, about }: FactorReset,
  remove: (tx: Repositories) => Promise<number>,
): Promise<number> {
  const intent = { principal, userId, action: 'reset_factor', endsSessions: reason } as const;
  const { removed, owner } = await withLockedAccounts(ctx, intent, async ({ tx, target, endSessions }) => {
    const count = await remove(tx);
    await tx.users.moveAuthVersion(userId, target.authVersion);
    await endSessions();
    return { removed: count, owner: target };
  });
  await ctx.notifyOwner(owner, toNotice(about));
  ctx.logger.info({ userId, reason, by: principal.user.id }, 'the factors of an account were reset');
  return removed;
}

const toNotice = (about: NoticeSubject, provider = '') => ({ about, by: 'administrator', provider }) as const;
