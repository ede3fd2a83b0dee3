import { type Clock, type Logger, parseUserAgent } from '../../kernel/index.ts';
import type { Repositories, SessionRecord, Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { addressKey } from '../limits/limit-requests.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { DecidingIp, RequestOrigin } from '../principals.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import type { Flows, FlowTicket } from '../tokens/flows.ts';
import { describeSignIn, type SignedIn } from './describe-session.ts';
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

/** Only the latest rows are compared: a device that appears only in older ones counts as new. */
const MAX_ROWS = 500;

/**
 * Whether no other stored session of the account, open or ended, has both the address key and the
 * user agent family of this one. The first sign-in of an account never counts as a new device.
 * `user` is the record from before this sign-in.
 */
async function isNewDevice(
  tx: Repositories,
  { user, session }: { user: UserRecord; session: SessionRecord },
): Promise<boolean> {
  if (user.lastLoginAt === 0) return false;
  const rows = await tx.sessions.ofAddress(user.id, session.addressKey, MAX_ROWS);
  return !rows.some(
    (row) =>
      row.sid !== session.sid &&
      readAddressKey(row) === session.addressKey &&
      readFamily(row.userAgent) === readFamily(session.userAgent),
  );
}

/** Rows written before address keys were stored only have the displayed address. */
const readAddressKey = (row: { ip: string; addressKey: string }): string =>
  row.addressKey || addressKey(row.ip as DecidingIp);

/** Browser and system, or of another program the name before the version. */
function readFamily(userAgent: string): string {
  const device = parseUserAgent(userAgent);
  return device ? `${device.browser} ${device.system}` : (userAgent.split('/')[0] ?? '');
}
