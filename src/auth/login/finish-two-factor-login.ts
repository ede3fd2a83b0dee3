import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { Flows } from '../flows/flows.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import type { SignInAttempt, SignIns } from '../sign-ins/record-sign-ins.ts';
import type { ConsumeCode } from '../two-factor/consume-code.ts';
import type { RequestOrigin } from '../types.ts';
import type { CompleteLogin, LoginResult } from './complete-login.ts';

export type TwoFactorLogin = { flowToken: string; code: string; origin: RequestOrigin };

/**
 * The second step of a login. The flow outlives a wrong code and dies when it is used; flow, code
 * and session go together, so that a limit of issuance leaves both unused. Rejects with
 * `auth.flow_invalid`, `auth.session_revoked` when the user was disabled, deleted or changed in
 * what matters for security since the first step (no code is looked at), as `ConsumeCode` does, or
 * with a limit of session issuance.
 */
export function createFinishTwoFactorLogin(deps: {
  store: Store;
  flows: Flows;
  consumeCode: ConsumeCode;
  completeLogin: CompleteLogin;
  signIns: SignIns;
}): (login: TwoFactorLogin) => Promise<LoginResult> {
  const { store, flows, consumeCode, completeLogin, signIns } = deps;

  return (login) => signIns.watch({ method: '2fa', origin: login.origin }, (attempt) => finish(login, attempt));

  async function finish({ flowToken, code, origin }: TwoFactorLogin, attempt: SignInAttempt): Promise<LoginResult> {
    const { userId, payload } = await flows.find(store, flowToken, '2fa_login', {});
    attempt.userId = userId;
    const user = await store.users.byId(userId);
    if (user?.status !== USER_ENABLED || user.authVersion !== payload.auth_version) throw authErrors.session_revoked();

    return consumeCode({ userId, code, origin, accept: ['app', 'backup'] }, (use) =>
      completeLogin({
        proven: user,
        method: '2fa',
        origin,
        twoFactors: true,
        async within(tx) {
          await flows.consume(tx, flowToken, '2fa_login', {});
          await use(tx);
        },
      }),
    );
  }
}
