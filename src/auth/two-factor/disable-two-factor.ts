import { changeSecurity } from '../change-security.ts';
import type { AuthContext } from '../context.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import { consumeCode } from './consume-code.ts';

export type ConfirmedByCode = { code: string; origin: RequestOrigin };

/**
 * Removes the second factor and its backup codes through `changeSecurity`, confirmed by a code of
 * either kind.
 *
 * @throws `auth.session_required` before the code is checked, then what `consumeCode` and
 * `changeSecurity` throw.
 */
export async function disableTwoFactor(
  ctx: AuthContext,
  principal: PanelPrincipal,
  { code, origin }: ConfirmedByCode,
): Promise<RotationBundle> {
  const { user } = requireSession(principal);
  return consumeCode(ctx, { userId: user.id, code, origin, accept: ['app', 'backup'] }, (use) =>
    changeSecurity(ctx, principal, {
      reason: 'twofa_disabled',
      async write(tx) {
        await use(tx);
        return (await tx.twoFactor.delete(user.id)) && (await tx.users.moveAuthVersion(user.id, user.authVersion));
      },
    }),
  );
}
