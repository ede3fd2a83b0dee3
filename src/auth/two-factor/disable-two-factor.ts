import type { ChangeSecurity } from '../change-security.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import type { ConsumeCode } from './consume-code.ts';

export type ConfirmedByCode = { code: string; origin: RequestOrigin };

/**
 * Takes the second factor and its backup codes away, as a change of security; any code of either
 * kind confirms it. Rejects with `auth.session_required` before the code is looked at, then as
 * `ConsumeCode` and `ChangeSecurity` do.
 */
export function createDisableTwoFactor(deps: {
  consumeCode: ConsumeCode;
  changeSecurity: ChangeSecurity;
}): (principal: PanelPrincipal, confirmed: ConfirmedByCode) => Promise<RotationBundle> {
  const { consumeCode, changeSecurity } = deps;

  return async (principal, { code, origin }) => {
    const { user } = requireSession(principal);
    return consumeCode({ userId: user.id, code, origin, accept: ['app', 'backup'] }, (use) =>
      changeSecurity(principal, {
        reason: 'twofa_disabled',
        async write(tx) {
          await use(tx);
          return (await tx.twoFactor.delete(user.id)) && (await tx.users.moveAuthVersion(user.id, user.authVersion));
        },
      }),
    );
  };
}
