import { isOver, type JsonObject } from '../../kernel/index.ts';
import {
  type FlowRecord,
  type Repositories,
  type SessionRecord,
  STATUS,
  type UserRecord,
} from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { SessionPrincipal } from '../principals.ts';

/** Checks the session alone: active, not revoked, not past its absolute end. */
export const isLive = (session: SessionRecord, now: number): boolean =>
  session.status === 'active' &&
  session.revokedAt === 0 &&
  !isOver(session.expiresAt, { now, longest: session.expiresAt - session.createdAt });

/** Checks the session alone: unused for `idleSeconds` or more; 0 means no idle timeout. */
export const isIdle = (session: SessionRecord, idleSeconds: number, now: number): boolean =>
  idleSeconds > 0 && isOver(session.lastActiveAt + idleSeconds, { now, longest: idleSeconds });

/** Sessions that were last used until then are idle; 0: none is. */
export const idleUntil = ({ sessionIdleSeconds }: Pick<AuthConfig, 'sessionIdleSeconds'>, now: number): number =>
  sessionIdleSeconds > 0 ? now - sessionIdleSeconds : 0;

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

/** What a flow stores of the session in which it begins, besides the ids of user and session. */
export const rememberSession = ({ user, sessionVersion }: SessionPrincipal): JsonObject => ({
  session_version: sessionVersion,
  auth_version: user.authVersion,
});

/**
 * Checks again, when a flow ends, the user and the session in which it began, and gives them.
 *
 * @throws `auth.user_not_found`, `auth.user_disabled`, or `auth.session_revoked` when the session
 * has ended, or session or user had a security change.
 */
export async function recheckSession(
  tx: Repositories,
  flow: Pick<FlowRecord, 'userId' | 'sessionId' | 'payload'>,
  { now, idleSeconds }: { now: number; idleSeconds: number },
): Promise<SessionPrincipal> {
  const user: UserRecord | undefined = await tx.users.byId(flow.userId);
  if (!user) throw authErrors.user_not_found();
  if (user.status !== STATUS.enabled) throw authErrors.user_disabled();
  const session = await tx.sessions.bySid(flow.sessionId);
  const holds =
    session !== undefined &&
    isLive(session, now) &&
    !isIdle(session, idleSeconds, now) &&
    isStillTrusted(user, session) &&
    session.version === flow.payload.session_version &&
    session.userAuthVersion === flow.payload.auth_version;
  if (!holds) throw authErrors.session_revoked();
  return { kind: 'session', user, sid: session.sid, sessionVersion: session.version };
}
