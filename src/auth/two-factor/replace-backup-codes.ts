import type { Clock } from '../../kernel/index.ts';
import type { ChangeSecurity } from '../change-security.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal } from '../types.ts';
import type { BackupCodes } from './backup-codes.ts';
import type { ConsumeCode } from './consume-code.ts';
import type { ConfirmedByCode } from './disable-two-factor.ts';

export type NewBackupCodes = RotationBundle & { backup_codes: string[] };

/**
 * Puts new backup codes in place of all old ones, as a change of security; a code of the app
 * confirms it, since a found sheet of backup codes must not make another. Rejects with
 * `auth.session_required` before the code is looked at, then as `ConsumeCode` and `ChangeSecurity`
 * do.
 */
export function createReplaceBackupCodes(deps: {
  clock: Clock;
  backupCodes: BackupCodes;
  consumeCode: ConsumeCode;
  changeSecurity: ChangeSecurity;
}): (principal: PanelPrincipal, confirmed: ConfirmedByCode) => Promise<NewBackupCodes> {
  const { clock, backupCodes, consumeCode, changeSecurity } = deps;

  return async (principal, { code, origin }) => {
    const { user } = requireSession(principal);
    const codes = backupCodes.create();
    const bundle = await consumeCode({ userId: user.id, code, origin, accept: ['app'] }, (use) =>
      changeSecurity(principal, {
        reason: 'twofa_backup_codes_regenerated',
        async write(tx) {
          await use(tx);
          await tx.twoFactor.replaceBackupCodes(user.id, backupCodes.digests(user.id, codes), clock.unix());
          return tx.users.moveAuthVersion(user.id, user.authVersion);
        },
      }),
    );
    return { ...bundle, backup_codes: codes };
  };
}
