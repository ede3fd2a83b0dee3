import type { UserRecord } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { isLive } from './check-session.ts';
import { describeSession, type SessionView } from './describe-session.ts';
import { LISTED_SESSIONS } from './list-sessions.ts';

/*
 * Any user's sessions, for root. The HTTP room checks before that the caller is root. Root's own
 * sessions count too, the current one included. Every operation rejects with
 * `auth.session_required` for a caller without a session, and with `auth.user_not_found`.
 */

const REASON = 'root_revoked';

/** A user's live sessions of the present auth version, the latest active first; at most 100. */
export async function listUserSessions(
  ctx: AuthContext,
  principal: PanelPrincipal,
  userId: number,
): Promise<SessionView[]> {
  const { store, clock } = ctx;
  const caller = requireSession(principal);
  const user = await findUser(ctx, userId);
  const live = await store.sessions.list({
    userId: user.id,
    authVersion: user.authVersion,
    now: clock.unix(),
    limit: LISTED_SESSIONS,
  });
  return live.map((session) => describeSession(session, caller.sid));
}

/** @throws `auth.session_not_found` when it is not this user's, has ended or never existed. */
export async function revokeUserSession(
  ctx: AuthContext,
  principal: PanelPrincipal,
  { userId, sid }: { userId: number; sid: string },
): Promise<{ revoked_sid: string; current: boolean }> {
  const { store, clock, sessions } = ctx;
  const caller = requireSession(principal);
  const user = await findUser(ctx, userId);
  const session = await store.sessions.bySid(sid);
  if (session?.userId !== user.id || !isLive(session, clock.unix())) throw authErrors.session_not_found();
  if (!(await sessions.end(session, REASON))) throw authErrors.session_not_found();
  return { revoked_sid: sid, current: sid === caller.sid };
}

/** Ends all sessions, those of older auth versions too, which no list shows. */
export async function revokeAllUserSessions(
  ctx: AuthContext,
  principal: PanelPrincipal,
  userId: number,
): Promise<{ revoked_count: number }> {
  const { store, sessions } = ctx;
  requireSession(principal);
  const user = await findUser(ctx, userId);
  const ending = { userId: user.id, exceptSid: null, reason: REASON };
  return { revoked_count: await sessions.endAll(ending, (end) => end(store)) };
}

async function findUser({ store }: AuthContext, userId: number): Promise<UserRecord> {
  const user = await store.users.byId(userId);
  if (!user) throw authErrors.user_not_found();
  return user;
}
