import type { Logger } from '../../kernel/index.ts';
import { type RightsChange, ROLE } from '../../store/ports/index.ts';
import type { PanelPrincipal } from '../types.ts';
import { type AccountView, describeAccount } from './describe-account.ts';
import { loadAccount } from './list-accounts.ts';
import type { WithLockedAccounts } from './with-locked-accounts.ts';

export type StatusOrRoleAction = 'enable' | 'disable' | 'promote' | 'demote';

/**
 * `changed` is false for an account that is what it was to become: nothing has happened to it, nor
 * to its sessions.
 */
export type StatusOrRoleChanged = { user: AccountView; changed: boolean };

const CHANGES: Record<
  StatusOrRoleAction,
  Required<Pick<RightsChange, 'status'>> | Required<Pick<RightsChange, 'role'>>
> = {
  enable: { status: 1 },
  disable: { status: 2 },
  promote: { role: ROLE.admin },
  demote: { role: ROLE.user },
};

/**
 * Enables, disables, promotes to administrator or demotes to user: a change of status or role moves
 * `auth_version` and ends every session of the account. Rejects as `WithLockedAccounts` does.
 */
export function createChangeStatusOrRole({ administer, logger }: { administer: WithLockedAccounts; logger: Logger }) {
  return async (
    principal: PanelPrincipal,
    userId: number,
    action: StatusOrRoleAction,
  ): Promise<StatusOrRoleChanged> => {
    const change = CHANGES[action];
    const intent = { userId, action, endsSessions: `admin_${action}` };
    const done = await administer(principal, intent, async (tx, target, endSessions) => {
      const changed = 'role' in change ? target.role !== change.role : target.status !== change.status;
      if (changed) {
        await tx.users.administer(userId, change, target.authVersion);
        await endSessions();
      }
      return { user: describeAccount(await loadAccount(tx, userId)), changed };
    });
    if (done.changed) logger.info({ userId, action, by: principal.user.id }, 'standing of an account changed');
    return done;
  };
}
