import { type RightsChange, ROLE, STATUS } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import type { PanelPrincipal } from '../types.ts';
import { type AccountView, describeAccount } from './describe-account.ts';
import { loadAccount } from './list-accounts.ts';
import { withLockedAccounts } from './with-locked-accounts.ts';

export type StatusOrRoleAction = 'enable' | 'disable' | 'promote' | 'demote';

/**
 * `changed` is false when the account had the status or role already: nothing happened to it or to
 * its sessions.
 */
export type StatusOrRoleChanged = { user: AccountView; changed: boolean };

const CHANGES: Record<
  StatusOrRoleAction,
  Required<Pick<RightsChange, 'status'>> | Required<Pick<RightsChange, 'role'>>
> = {
  enable: { status: STATUS.enabled },
  disable: { status: STATUS.disabled },
  promote: { role: ROLE.admin },
  demote: { role: ROLE.user },
};

/**
 * Enables, disables, promotes to administrator or demotes to user. A real change advances
 * `auth_version` and ends every session of the account. Throws what `withLockedAccounts` throws.
 */
export async function changeStatusOrRole(
  ctx: AuthContext,
  principal: PanelPrincipal,
  { userId, action }: { userId: number; action: StatusOrRoleAction },
): Promise<StatusOrRoleChanged> {
  const change = CHANGES[action];
  const intent = { principal, userId, action, endsSessions: `admin_${action}` };
  const done = await withLockedAccounts(ctx, intent, async ({ tx, target, endSessions }) => {
    const changed = 'role' in change ? target.role !== change.role : target.status !== change.status;
    if (changed) {
      await tx.users.administer(userId, change, target.authVersion);
      await endSessions();
    }
    return { user: describeAccount(await loadAccount(tx, userId)), changed };
  });
  if (done.changed) ctx.logger.info({ userId, action, by: principal.user.id }, 'status or role of an account changed');
  return done;
}
