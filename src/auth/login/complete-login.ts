import type { Clock, Logger } from '../../kernel/index.ts';
import type { Repositories, Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import type { Flows, FlowTicket } from '../flows/flows.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { bundleLogin, type SignedIn } from '../sessions/describe-session.ts';
import { issueSession, type LoginMethod } from '../sessions/issue-session.ts';
import type { RefreshTokens } from '../sessions/refresh-tokens.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import type { AccessTokens } from '../tokens/access-tokens.ts';
import type { RequestOrigin } from '../types.ts';
import { isNewDevice } from './is-new-device.ts';

/** A first step that was right, where a second factor is due: `data` is the answer's body. */
export type SecondFactorDue = { kind: 'require_2fa'; data: { require_2fa: true } & FlowTicket };

export type LoginResult = SignedIn | SecondFactorDue;

type Proven = Pick<UserRecord, 'id' | 'authVersion'>;

export type ProvenLogin = {
  /**
   * The user as the login proved it: he must still be enabled and at this version. A function finds
   * or makes him in the login's transaction.
   */
  proven: Proven | ((tx: Repositories) => Promise<Proven>);
  method: LoginMethod;
  origin: RequestOrigin;
  /** The proof was of two factors already, so that an enabled two-factor is not asked for. */
  twoFactors: boolean;
  /**
   * What belongs to this login and must happen with it or not at all, before anything else: a flow
   * that is used up.
   */
  within?: (tx: Repositories) => Promise<void>;
};

/**
 * The one end of every login method: a new session, or the second-factor step where the user has
 * one. One transaction, so that a login that meets a limit of issuance leaves its flow and its code
 * unused. Rejects as `issueSession` and `within` do.
 */
export type CompleteLogin = (login: ProvenLogin) => Promise<LoginResult>;

export function createCompleteLogin(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: AuthConfig;
  flows: Flows;
  accessTokens: AccessTokens;
  refreshTokens: RefreshTokens;
  signIns: SignIns;
  notifyOwner: NotifyOwner;
}): CompleteLogin {
  const { store, logger, flows, accessTokens, signIns, notifyOwner } = deps;

  return async ({ proven, method, origin, twoFactors, within }) => {
    const outcome = await store.transaction(async (tx) => {
      await within?.(tx);
      const user = typeof proven === 'function' ? await proven(tx) : proven;
      if (!twoFactors && (await tx.twoFactor.byUser(user.id))?.enabled) {
        const payload = { auth_version: user.authVersion };
        return { due: await flows.begin(tx, '2fa_login', { userId: user.id }, payload) };
      }
      const issued = await issueSession(deps, tx, { proven: user, method, origin });
      return { issued, newDevice: await isNewDevice(tx, issued) };
    });
    if (outcome.due) {
      signIns.secondFactorDue(method);
      return { kind: 'require_2fa', data: { require_2fa: true, ...outcome.due } };
    }

    const { session, user, refreshToken } = outcome.issued;
    logger.info({ userId: user.id, sid: session.sid, ip: session.ip, method: session.loginMethod }, 'signed in');
    await signIns.succeeded({ method, origin, user, sid: session.sid });
    if (outcome.newDevice) await notifyOwner(user, { about: 'new_device', origin });
    return {
      kind: 'session',
      bundle: await bundleLogin({ store, accessTokens }, session, user),
      refreshToken,
      refreshExpiresAt: session.expiresAt,
    };
  };
}
