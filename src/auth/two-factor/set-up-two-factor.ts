import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';

/** Shown once: the secret for the app, and the backup codes to keep. */
export type TwoFactorSetup = {
  /** Base32, for apps without a camera. */
  secret: string;
  /** The text of the QR code: an `otpauth:` address. */
  qr_code_data: string;
  backup_codes: string[];
};

/**
 * Begins a set-up and replaces an unconfirmed one. Until it is enabled, sign-in asks for no code
 * and the backup codes do not work.
 *
 * @throws `auth.session_required` or `auth.two_factor_enabled`.
 */
export async function setUpTwoFactor(ctx: AuthContext, principal: PanelPrincipal): Promise<TwoFactorSetup> {
  const { store, clock, authenticator, backupCodes } = ctx;
  const { user } = requireSession(principal);
  const { secret, secretSealed } = await authenticator.create();
  const codes = backupCodes.create();
  const now = clock.unix();
  await store.transaction(async (tx) => {
    const begun = await tx.twoFactor.begin({ userId: user.id, secretSealed, createdAt: now });
    if (!begun) throw authErrors.two_factor_enabled();
    await tx.twoFactor.replaceBackupCodes(user.id, backupCodes.digests(user.id, codes), now);
  });
  return { secret, qr_code_data: await authenticator.address(secret, user.username), backup_codes: codes };
}
