import type { JsonObject } from '../../kernel/index.ts';
import { type FlowRecord, type Repositories, STATUS, type UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { SessionPrincipal } from '../require-session.ts';
import { isIdle, isLive, isStillTrusted } from './check-session.ts';

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
