import type { AuthContext } from '../context.ts';
import type { PanelPrincipal } from '../types.ts';
import { isLocked } from './consume-code.ts';

export type TwoFactorStatus = {
  enabled: boolean;
  /** Too many wrong codes: no code is checked for a while. */
  locked: boolean;
  /** Only while enabled. */
  backup_codes_remaining?: number;
};

export async function describeTwoFactor(
  { store, clock }: AuthContext,
  { user }: PanelPrincipal,
): Promise<TwoFactorStatus> {
  const factor = await store.twoFactor.byUser(user.id);
  if (!factor?.enabled) return { enabled: false, locked: false };
  return {
    enabled: true,
    locked: isLocked(factor, clock.unix()),
    backup_codes_remaining: await store.twoFactor.countBackupCodes(user.id),
  };
}
