import type { Clock, Logger } from '../../kernel/index.ts';
import { STATUS, type Store } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import type { Authenticator } from '../credentials/authenticator.ts';
import type { BackupCodes } from '../credentials/backup-codes.ts';
import { authErrors } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { RequestOrigin } from '../principals.ts';
import { completeSignIn, type SignInResult } from '../sessions/complete-sign-in.ts';
import type { SignInAttempt, SignIns } from '../sessions/record-sign-ins.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import type { Flows } from '../tokens/flows.ts';
import { consumeCode } from './consume-code.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: AuthConfig;
  tokens: SessionTokens;
  flows: Flows;
  authenticator: Authenticator;
  backupCodes: BackupCodes;
  signIns: SignIns;
  limitGuesses: GuessLimit;
  notifyOwner: NotifyOwner;
};

export type TwoFactorSignIn = { flowToken: string; code: string; origin: RequestOrigin };

/**
 * The second step of a sign-in. A wrong code leaves the flow usable. Flow, code and session commit
 * together, so that a refusal by a limit of session issuance leaves flow and code unused.
 *
 * @throws `auth.flow_invalid`; `auth.session_revoked` when the user was disabled, deleted or had a
 * security change since the first step (the code is not checked then); what `consumeCode` throws; a
 * limit of session issuance.
 */
export const finishTwoFactorSignIn = (ctx: Deps, signIn: TwoFactorSignIn): Promise<SignInResult> =>
  ctx.signIns.watch({ method: '2fa', origin: signIn.origin }, (attempt) => finish(ctx, signIn, attempt));

async function finish(
  ctx: Deps,
  { flowToken, code, origin }: TwoFactorSignIn,
  attempt: SignInAttempt,
): Promise<SignInResult> {
  const { store, flows } = ctx;
  const flow = { token: flowToken, purpose: '2fa_login', binding: {} } as const;
  const { userId, payload } = await flows.find(store, flow);
  attempt.userId = userId;
  const user = await store.users.byId(userId);
  if (user?.status !== STATUS.enabled || user.authVersion !== payload.auth_version) throw authErrors.session_revoked();

  return consumeCode(ctx, { userId, code, origin, accept: ['app', 'backup'] }, (use) =>
    completeSignIn(ctx, {
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
