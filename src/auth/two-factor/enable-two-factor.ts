import type { Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { ChangeSecurity } from '../change-security.ts';
import { authErrors } from '../errors.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal } from '../types.ts';
import type { Authenticator } from './authenticator.ts';
import { readCode } from './read-code.ts';

/**
 * Confirms a set-up with a code of the app, as a change of security. No failure is counted: whoever
 * sees the set-up has its secret. Rejects with `auth.session_required`,
 * `auth.two_factor_not_begun`, `auth.two_factor_enabled`, `auth.code_invalid`,
 * `auth.two_factor_unreadable`, or `auth.changed_meanwhile`.
 */
export function createEnableTwoFactor(deps: {
  store: Store;
  clock: Clock;
  authenticator: Authenticator;
  changeSecurity: ChangeSecurity;
}): (principal: PanelPrincipal, code: string) => Promise<RotationBundle> {
  const { store, clock, authenticator, changeSecurity } = deps;

  return async (principal, code) => {
    const { user } = requireSession(principal);
    const factor = await store.twoFactor.byUser(user.id);
    if (!factor) throw authErrors.two_factor_not_begun();
    if (factor.enabled) throw authErrors.two_factor_enabled();
    const typed = readCode(code);
    const step = typed?.kind === 'app' ? authenticator.stepOf(authenticator.open(factor), typed.text) : undefined;
    if (step === undefined) throw authErrors.code_invalid({ param: 'code' });

    return changeSecurity(principal, {
      reason: 'twofa_enabled',
      write: async (tx) =>
        (await tx.twoFactor.enable(user.id, factor.secretSealed, clock.unix())) &&
        // The code is used up: it serves no sign-in afterwards.
        (await tx.twoFactor.useStep(user.id, step)) &&
        (await tx.users.moveAuthVersion(user.id, user.authVersion)),
    });
  };
}
