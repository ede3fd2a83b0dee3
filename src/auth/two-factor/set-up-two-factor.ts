import type { Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';
import type { Authenticator } from './authenticator.ts';
import type { BackupCodes } from './backup-codes.ts';

/** What is shown once, for the app and for the drawer. */
export type TwoFactorSetup = {
  /** Base32, for apps without a camera. */
  secret: string;
  /** The text of the QR code: an `otpauth:` address. */
  qr_code_data: string;
  backup_codes: string[];
};

/**
 * Begins a set-up, in place of one that was not confirmed; nothing is asked for until it is
 * enabled, and the backup codes are worth nothing before. Rejects with `auth.session_required` or
 * `auth.two_factor_enabled`.
 */
export function createSetUpTwoFactor(deps: {
  store: Store;
  clock: Clock;
  authenticator: Authenticator;
  backupCodes: BackupCodes;
}): (principal: PanelPrincipal) => Promise<TwoFactorSetup> {
  const { store, clock, authenticator, backupCodes } = deps;

  return async (principal) => {
    const { user } = requireSession(principal);
    const { secret, secretSealed } = authenticator.create();
    const codes = backupCodes.create();
    const now = clock.unix();
    await store.transaction(async (tx) => {
      const begun = await tx.twoFactor.begin({ userId: user.id, secretSealed, createdAt: now });
      if (!begun) throw authErrors.two_factor_enabled();
      await tx.twoFactor.replaceBackupCodes(user.id, backupCodes.digests(user.id, codes), now);
    });
    return { secret, qr_code_data: authenticator.address(secret, user.username), backup_codes: codes };
  };
}
