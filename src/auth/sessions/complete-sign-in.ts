import type { Clock, Logger } from '../../kernel/index.ts';
import type { Repositories, Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { RequestOrigin } from '../principals.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import type { Flows, FlowTicket } from '../tokens/flows.ts';
import { describeSignIn, type SignedIn } from './describe-session.ts';
import { isNewDevice } from './detect-new-device.ts';
import { issueSession, type SignInMethod } from './issue-session.ts';
import type { SignIns } from './record-sign-ins.ts';

/** What a sign-in uses, whatever its method. */
export type SignInDeps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: AuthConfig;
  tokens: SessionTokens;
  flows: Flows;
  signIns: SignIns;
  notifyOwner: NotifyOwner;
};

/** The first step was right and a second factor is required. `data` is the answer's body. */
export type SecondFactorDue = { kind: 'require_2fa'; data: { require_2fa: true } & FlowTicket };

export type SignInResult = SignedIn | SecondFactorDue;

type Proven = Pick<UserRecord, 'id' | 'authVersion'>;

export type ProvenSignIn = {
  /**
   * The user as the sign-in proved it: the account must still be enabled and at this version. A
   * function finds or creates the user in the sign-in's transaction.
   */
  proven: Proven | ((tx: Repositories) => Promise<Proven>);
  method: SignInMethod;
  origin: RequestOrigin;
  /** The sign-in already proved two factors, so that an enabled second factor is not asked for. */
  twoFactors: boolean;
  /**
   * Runs first in the sign-in's transaction, for what must commit with the sign-in or not at all,
   * such as consuming a flow.
   */
  within?: (tx: Repositories) => Promise<void>;
};

/**
 * The last step of every sign-in method: opens a session, or begins the second-factor step where
 * the user has one. One transaction, so that a sign-in that is refused by a limit of session
 * issuance leaves its flow and its code unused.
 *
 * @throws what `issueSession` and `within` throw.
 */
export async function completeSignIn(
  ctx: SignInDeps,
  { proven, method, origin, twoFactors, within }: ProvenSignIn,
): Promise<SignInResult> {
  const { store, logger, flows, signIns } = ctx;
  const outcome = await store.transaction(async (tx) => {
    await within?.(tx);
    const user = typeof proven === 'function' ? await proven(tx) : proven;
    if (!twoFactors && (await tx.twoFactor.byUser(user.id))?.enabled) {
      const payload = { auth_version: user.authVersion };
      return { due: await flows.begin(tx, { purpose: '2fa_login', binding: { userId: user.id }, payload }) };
    }
    const issued = await issueSession(ctx, tx, { proven: user, method, origin });
    return { issued, newDevice: await isNewDevice(tx, issued) };
  });
  if (outcome.due) {
    signIns.secondFactorDue(method);
    return { kind: 'require_2fa', data: { require_2fa: true, ...outcome.due } };
  }

  const { session, user, refreshToken } = outcome.issued;
  logger.info({ userId: user.id, sid: session.sid, ip: session.ip, method: session.loginMethod }, 'signed in');
  await signIns.succeeded({ method, origin, user, sid: session.sid });
  if (outcome.newDevice) await ctx.notifyOwner(user, { about: 'new_device', origin });
  return {
    kind: 'session',
    bundle: await describeSignIn(ctx, session, user),
    refreshToken,
    refreshExpiresAt: session.expiresAt,
  };
}
