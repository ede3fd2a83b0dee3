import type { Clock, Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { PasswordHashes } from '../passwords/password-hashes.ts';
import type { SessionGate } from '../sessions/session-gate.ts';
import type { PanelPrincipal } from '../types.ts';
import { createRevokeLinks } from '../users/revoke-links.ts';
import { createChangeQuota, type QuotaChange, type QuotaChanged } from './change-quota.ts';
import {
  createChangeStatusOrRole,
  type StatusOrRoleAction,
  type StatusOrRoleChanged,
} from './change-status-or-role.ts';
import { createCreateUser, type NewAccount } from './create-user.ts';
import { createDeleteUser, type UserDeleted } from './delete-user.ts';
import type { AccountView } from './describe-account.ts';
import { type AccountEdit, type AccountEdited, createEditUser } from './edit-user.ts';
import { createListAccounts, type ListAccounts } from './list-accounts.ts';
import { createResetFactors, type ResetFactors } from './reset-factors.ts';
import { createWithLockedAccounts } from './with-locked-accounts.ts';

/**
 * What administrators do to accounts. Who may do what to whom is `requireRank`'s to say, for every
 * one of these.
 */
export interface Administration extends ListAccounts {
  create(principal: PanelPrincipal, account: NewAccount): Promise<AccountView>;
  edit(principal: PanelPrincipal, userId: number, edit: AccountEdit): Promise<AccountEdited>;
  changeStatusOrRole(
    principal: PanelPrincipal,
    userId: number,
    action: StatusOrRoleAction,
  ): Promise<StatusOrRoleChanged>;
  changeQuota(principal: PanelPrincipal, userId: number, change: QuotaChange): Promise<QuotaChanged>;
  delete(principal: PanelPrincipal, userId: number): Promise<UserDeleted>;
  /** Ends every artifact link of the account that was given out until now. */
  revokeLinks(principal: PanelPrincipal, userId: number): Promise<void>;
  readonly reset: ResetFactors;
}

export function createAdministration(room: {
  store: Store;
  clock: Clock;
  logger: Logger;
  passwords: PasswordHashes;
  sessions: SessionGate;
  settings: () => AuthSettings;
  notifyOwner: NotifyOwner;
}): Administration {
  const deps = { ...room, administer: createWithLockedAccounts(room) };
  return {
    ...createListAccounts(room),
    create: createCreateUser(room),
    edit: createEditUser(deps),
    changeStatusOrRole: createChangeStatusOrRole(deps),
    changeQuota: createChangeQuota(deps),
    delete: createDeleteUser(deps),
    revokeLinks: createRevokeLinks(deps),
    reset: createResetFactors(deps),
  };
}
