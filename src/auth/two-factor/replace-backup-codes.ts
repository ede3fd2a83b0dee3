import { changeSecurity } from '../change-security.ts';
import type { AuthContext } from '../context.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { consumeCode } from './consume-code.ts';
import type { ConfirmedByCode } from './disable-two-factor.ts';

export type NewBackupCodes = RotationBundle & { backup_codes: string[] };

/**
 * Replaces all backup codes, through `changeSecurity`. Only a code of the app confirms it: someone
 * who found a sheet of backup codes must not be able to make new ones.
 *
 * @throws `auth.session_required` before the code is checked, then what `consumeCode` and
 * `changeSecurity` throw.
 */
export async function replaceBackupCodes(
  ctx: AuthContext,
  principal: PanelPrincipal,
  { code, origin }: ConfirmedByCode,
): Promise<NewBackupCodes> {
  const { clock, backupCodes } = ctx;
  const { user } = requireSession(principal);
  const codes = backupCodes.create();
  const bundle = await consumeCode(ctx, { userId: user.id, code, origin, accept: ['app'] }, (use) =>
    changeSecurity(ctx, principal, {
      reason: 'twofa_backup_codes_regenerated',
      async write(tx) {
        await use(tx);
        await tx.twoFactor.replaceBackupCodes(user.id, backupCodes.digests(user.id, codes), clock.unix());
        return tx.users.moveAuthVersion(user.id, user.authVersion);
      },
    }),
  );
  return { ...bundle, backup_codes: codes };
}
