import { changeSecurity } from '../change-security.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { readCode } from './read-code.ts';

/**
 * Confirms a set-up with a code of the app, through `changeSecurity`. Failures are not counted:
 * callers who see the set-up have its secret anyway.
 *
 * @throws `auth.session_required`, `auth.two_factor_not_begun`, `auth.two_factor_enabled`,
 * `auth.code_invalid`, `auth.two_factor_unreadable`, or `auth.changed_meanwhile`.
 */
export async function enableTwoFactor(
  ctx: AuthContext,
  principal: PanelPrincipal,
  code: string,
): Promise<RotationBundle> {
  const { store, clock, authenticator } = ctx;
  const { user } = requireSession(principal);
  const factor = await store.twoFactor.byUser(user.id);
  if (!factor) throw authErrors.two_factor_not_begun();
  if (factor.enabled) throw authErrors.two_factor_enabled();
  const typed = readCode(code);
  const step = typed?.kind === 'app' ? await authenticator.stepOf(authenticator.open(factor), typed.text) : undefined;
  if (step === undefined) throw authErrors.code_invalid({ param: 'code' });

  return changeSecurity(ctx, principal, {
    reason: 'twofa_enabled',
    write: async (tx) =>
      (await tx.twoFactor.enable(user.id, factor.secretSealed, clock.unix())) &&
      // Uses the code up, so that it serves no sign-in afterwards.
      (await tx.twoFactor.useStep(user.id, step)) &&
      (await tx.users.moveAuthVersion(user.id, user.authVersion)),
  });
}
