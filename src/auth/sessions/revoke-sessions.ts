import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { isLive } from './check-session.ts';

/**
 * Ends one of the caller's own sessions, the current one included.
 *
 * @throws `auth.session_id_required` for a blank id. `auth.session_not_found` alike for a session
 * of another user, one that has ended and one that never existed.
 */
export async function revokeSession(
  { store, clock, sessions }: AuthContext,
  principal: PanelPrincipal,
  sid: string,
): Promise<{ revoked_sid: string; current: boolean }> {
  const caller = requireSession(principal);
  if (sid.trim() === '') throw authErrors.session_id_required();
  const session = await store.sessions.bySid(sid);
  if (session?.userId !== caller.user.id || !isLive(session, clock.unix())) throw authErrors.session_not_found();
  if (!(await sessions.end(session, 'user_revoked'))) throw authErrors.session_not_found();
  return { revoked_sid: sid, current: sid === caller.sid };
}

/**
 * Ends all of the caller's sessions but the current one, those of older auth versions too, which no
 * list shows.
 */
export async function revokeOtherSessions(
  { store, sessions }: AuthContext,
  principal: PanelPrincipal,
): Promise<{ revoked_count: number }> {
  const { user, sid } = requireSession(principal);
  const ending = { userId: user.id, exceptSid: sid, reason: 'user_revoked_others' };
  return { revoked_count: await sessions.endAll(ending, (end) => end(store)) };
}
