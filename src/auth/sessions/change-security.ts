import type { Clock, Logger } from '../../kernel/index.ts';
import type { Repositories, Store, UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { NoticeSubject } from '../mail/types.ts';
import { type PanelPrincipal, requireSession } from '../principals.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import { bundleSession, type RotationBundle } from './describe-session.ts';
import type { SessionRegistry } from './session-registry.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  tokens: SessionTokens;
  sessions: SessionRegistry;
  notifyOwner: NotifyOwner;
};

/** The notice that the owner gets for each reason. */
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
   * Writes the change and advances the user's `auth_version` from `user.authVersion`; false when
   * another change advanced it first. An error undoes everything.
   */
  write: (tx: Repositories, user: UserRecord) => Promise<boolean>;
};

/**
 * Applies a change that users make to what protects their account. One transaction writes the
 * change, advances `auth_version`, ends all other sessions and carries the current session over.
 * The session keeps its refresh token; the answer holds its new access token, and the old one is
 * dead. Then the owner is notified by mail.
 *
 * @throws `auth.session_required`, or `auth.changed_meanwhile` when user or session changed at the
 * same time.
 */
export async function changeSecurity(
  ctx: Deps,
  principal: PanelPrincipal,
  { reason, write }: SecurityChange,
): Promise<RotationBundle> {
  const { store, clock, logger, tokens, sessions } = ctx;
  const { user, sid, sessionVersion } = requireSession(principal);
  const now = clock.unix();
  const session = await sessions.endAll({ userId: user.id, exceptSid: sid, reason }, (end) =>
    store.transaction(async (tx) => {
      const advanced =
        (await write(tx, user)) &&
        (await tx.sessions.advance({
          sid,
          expectedVersion: sessionVersion,
          expectedUserAuthVersion: user.authVersion,
          userAuthVersion: user.authVersion + 1,
          now,
        }));
      if (!advanced) throw authErrors.changed_meanwhile();
      await end(tx);
      return tx.sessions.bySid(sid);
    }),
  );
  if (!session) throw authErrors.session_revoked();
  logger.info({ userId: user.id, sid, reason }, 'account security changed');
  await ctx.notifyOwner(user, { about: NOTICES[reason], origin: principal.origin });
  return bundleSession(tokens.access, session);
}
