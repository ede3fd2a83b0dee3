import { isOver } from '../../kernel/index.ts';
import { type SessionRecord, STATUS, type UserRecord } from '../../store/ports/index.ts';

/** Checks the session alone: active, not revoked, not past its absolute end. */
export const isLive = (session: SessionRecord, now: number): boolean =>
  session.status === 'active' &&
  session.revokedAt === 0 &&
  !isOver(session.expiresAt, { now, longest: session.expiresAt - session.createdAt });

/** Checks the session alone: unused for `idleSeconds` or more; 0 means no idle timeout. */
export const isIdle = (session: SessionRecord, idleSeconds: number, now: number): boolean =>
  idleSeconds > 0 && isOver(session.lastActiveAt + idleSeconds, { now, longest: idleSeconds });

/**
 * Checks the user alone: the account exists, is enabled, and had no security change since the
 * session was issued.
 */
export const isStillTrusted = (
  user: UserRecord | undefined,
  session: Pick<SessionRecord, 'userId' | 'userAuthVersion'>,
): user is UserRecord =>
  user !== undefined &&
  user.id === session.userId &&
  user.status === STATUS.enabled &&
  user.authVersion === session.userAuthVersion;
