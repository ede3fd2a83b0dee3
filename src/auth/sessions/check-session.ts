import type { SessionRecord, UserRecord } from '../../store/ports/index.ts';

export const USER_ENABLED = 1;

/** The row alone: active, not revoked, not past its absolute end. */
export const isLive = (session: SessionRecord, now: number): boolean =>
  session.status === 'active' && session.revokedAt === 0 && session.expiresAt > now;

/** The row alone: `idleSeconds` or more without a use; 0 allows any time. */
export const isIdle = (session: SessionRecord, idleSeconds: number, now: number): boolean =>
  idleSeconds > 0 && now - session.lastActiveAt >= idleSeconds;

/**
 * The user alone: there, enabled, and unchanged in what matters for security since the session was
 * issued.
 */
export const isStillTrusted = (
  user: UserRecord | undefined,
  session: Pick<SessionRecord, 'userId' | 'userAuthVersion'>,
): user is UserRecord =>
  user !== undefined &&
  user.id === session.userId &&
  user.status === USER_ENABLED &&
  user.authVersion === session.userAuthVersion;
