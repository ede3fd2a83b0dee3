import { STATUS } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import type { SignInAttempt } from '../sign-ins/record-sign-ins.ts';
import { consumeCode } from '../two-factor/consume-code.ts';
import type { RequestOrigin } from '../types.ts';
import { completeLogin, type LoginResult } from './complete-login.ts';

export type TwoFactorLogin = { flowToken: string; code: string; origin: RequestOrigin };

/**
 * The second step of a login. A wrong code leaves the flow usable. Flow, code and session commit
 * together, so that a refusal by a limit of session issuance leaves flow and code unused.
 *
 * @throws `auth.flow_invalid`; `auth.session_revoked` when the user was disabled, deleted or had a
 * security change since the first step (the code is not checked then); what `consumeCode` throws; a
 * limit of session issuance.
 */
export const finishTwoFactorLogin = (ctx: AuthContext, login: TwoFactorLogin): Promise<LoginResult> =>
  ctx.signIns.watch({ method: '2fa', origin: login.origin }, (attempt) => finish(ctx, login, attempt));

async function finish(
  ctx: AuthContext,
  { flowToken, code, origin }: TwoFactorLogin,
  attempt: SignInAttempt,
): Promise<LoginResult> {
  const { store, flows } = ctx;
  const flow = { token: flowToken, purpose: '2fa_login', binding: {} } as const;
  const { userId, payload } = await flows.find(store, flow);
  attempt.userId = userId;
  const user = await store.users.byId(userId);
  if (user?.status !== STATUS.enabled || user.authVersion !== payload.auth_version) throw authErrors.session_revoked();

  return consumeCode(ctx, { userId, code, origin, accept: ['app', 'backup'] }, (use) =>
    completeLogin(ctx, {
      proven: user,
      method: '2fa',
      origin,
      twoFactors: true,
      async within(tx) {
        await flows.consume(tx, flow);
        await use(tx);
      },
    }),
  );
}
