import type { Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { PanelPrincipal } from '../types.ts';

export type TwoFactorStatus = {
  enabled: boolean;
  /** No code is looked at for a while. */
  locked: boolean;
  /** Only while enabled. */
  backup_codes_remaining?: number;
};

export function createDescribeTwoFactor(deps: {
  store: Store;
  clock: Clock;
}): (principal: PanelPrincipal) => Promise<TwoFactorStatus> {
  const { store, clock } = deps;
  return async ({ user }) => {
    const factor = await store.twoFactor.byUser(user.id);
    if (!factor?.enabled) return { enabled: false, locked: false };
    return {
      enabled: true,
      locked: factor.lockedUntil > clock.unix(),
      backup_codes_remaining: await store.twoFactor.countBackupCodes(user.id),
    };
  };
}
