import type { Clock, Logger } from '../kernel/index.ts';
import type { Repositories, Store, UserRecord } from '../store/ports/index.ts';
import { authErrors } from './errors.ts';
import type { NoticeSubject } from './mail/notice-texts.ts';
import type { NotifyOwner } from './mail/notify-owner.ts';
import { requireSession } from './require-session.ts';
import { bundleSession, type RotationBundle } from './sessions/describe-session.ts';
import type { SessionGate } from './sessions/session-gate.ts';
import type { AccessTokens } from './tokens/access-tokens.ts';
import type { PanelPrincipal } from './types.ts';

/** What the owner is told of each. */
const NOTICES = {
  password_changed: 'password_changed',
  twofa_enabled: 'two_factor_enabled',
  twofa_disabled: 'two_factor_disabled',
  twofa_backup_codes_regenerated: 'backup_codes_replaced',
  passkey_registered: 'passkey_added',
  passkey_deleted: 'passkey_removed',
} as const satisfies Record<string, NoticeSubject>;

export type SecurityChange = {
  /** Becomes the `revoked_reason` of the other sessions. */
  reason: keyof typeof NOTICES;
  /**
   * Writes the change and moves the user's `auth_version` on from `user.authVersion`; false when it
   * had moved already. What it throws undoes everything.
   */
  write: (tx: Repositories, user: UserRecord) => Promise<boolean>;
};

/**
 * A change that a user makes to what protects his account: the change, a new `auth_version`, the
 * end of all his other sessions, and the current session carried over, with the same refresh token
 * and the access token in the answer; the old access token is dead. One transaction; then the owner
 * is told by mail. Rejects with `auth.session_required`, or `auth.changed_meanwhile` when user or
 * session moved at the same time.
 */
export type ChangeSecurity = (principal: PanelPrincipal, change: SecurityChange) => Promise<RotationBundle>;

export function createChangeSecurity(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  accessTokens: AccessTokens;
  sessions: SessionGate;
  notifyOwner: NotifyOwner;
}): ChangeSecurity {
  const { store, clock, logger, accessTokens, sessions, notifyOwner } = deps;

  return async (principal, { reason, write }) => {
    const { user, sid, sessionVersion } = requireSession(principal);
    const now = clock.unix();
    const session = await sessions.endAll({ userId: user.id, exceptSid: sid, reason }, (end) =>
      store.transaction(async (tx) => {
        const moved =
          (await write(tx, user)) &&
          (await tx.sessions.advance({
            sid,
            expectedVersion: sessionVersion,
            expectedUserAuthVersion: user.authVersion,
            userAuthVersion: user.authVersion + 1,
            now,
          }));
        if (!moved) throw authErrors.changed_meanwhile();
        await end(tx);
        return tx.sessions.bySid(sid);
      }),
    );
    if (!session) throw authErrors.session_revoked();
    logger.info({ userId: user.id, sid, reason }, 'account security changed');
    await notifyOwner(user, { about: NOTICES[reason], origin: principal.origin });
    return bundleSession(accessTokens, session);
  };
}
