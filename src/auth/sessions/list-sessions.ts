import type { AuthContext } from '../context.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { describeSession, type SessionView } from './describe-session.ts';

/** As in new-api. */
export const LISTED_SESSIONS = 100;

/**
 * The user's live sessions of the present auth version: the current one first, then by latest
 * activity; at most 100.
 */
export async function listSessions({ store, clock }: AuthContext, principal: PanelPrincipal): Promise<SessionView[]> {
  const { user, sid } = requireSession(principal);
  const latest = await store.sessions.list({
    userId: user.id,
    authVersion: user.authVersion,
    now: clock.unix(),
    limit: LISTED_SESSIONS,
  });
  const current = latest.find((session) => session.sid === sid) ?? (await store.sessions.bySid(sid));
  const others = latest.filter((session) => session.sid !== sid);
  return [...(current ? [current] : []), ...others]
    .slice(0, LISTED_SESSIONS)
    .map((session) => describeSession(session, sid));
}
