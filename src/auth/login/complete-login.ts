import type { Repositories, UserRecord } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import type { FlowTicket } from '../flows/flows.ts';
import { notifyOwner } from '../mail/notify-owner.ts';
import { bundleLogin, type SignedIn } from '../sessions/describe-session.ts';
import { issueSession, type LoginMethod } from '../sessions/issue-session.ts';
import type { RequestOrigin } from '../types.ts';
import { isNewDevice } from './is-new-device.ts';

/** The first step was right and a second factor is required. `data` is the answer's body. */
export type SecondFactorDue = { kind: 'require_2fa'; data: { require_2fa: true } & FlowTicket };

export type LoginResult = SignedIn | SecondFactorDue;

type Proven = Pick<UserRecord, 'id' | 'authVersion'>;

export type ProvenLogin = {
  /**
   * The user as the login proved it: the account must still be enabled and at this version. A
   * function finds or creates the user in the login's transaction.
   */
  proven: Proven | ((tx: Repositories) => Promise<Proven>);
  method: LoginMethod;
  origin: RequestOrigin;
  /** The login already proved two factors, so that an enabled second factor is not asked for. */
  twoFactors: boolean;
  /**
   * Runs first in the login's transaction, for what must commit with the login or not at all, such
   * as consuming a flow.
   */
  within?: (tx: Repositories) => Promise<void>;
};

/**
 * The last step of every login method: opens a session, or begins the second-factor step where the
 * user has one. One transaction, so that a login that is refused by a limit of session issuance
 * leaves its flow and its code unused.
 *
 * @throws what `issueSession` and `within` throw.
 */
export async function completeLogin(
  ctx: AuthContext,
  { proven, method, origin, twoFactors, within }: ProvenLogin,
): Promise<LoginResult> {
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
  if (outcome.newDevice) await notifyOwner(ctx, user, { about: 'new_device', origin });
  return {
    kind: 'session',
    bundle: await bundleLogin(ctx, session, user),
    refreshToken,
    refreshExpiresAt: session.expiresAt,
  };
}
