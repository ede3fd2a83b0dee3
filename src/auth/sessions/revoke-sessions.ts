import type { Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { isLive } from './check-session.ts';
import type { SessionGate } from './session-gate.ts';

type Deps = { store: Store; clock: Clock; sessions: SessionGate };

/**
 * Ends one of the user's own sessions, the current one included. Rejects with
 * `auth.session_id_required` for a blank id and `auth.session_not_found` for one that is not his,
 * has ended or never was: the three look alike.
 */
export function createRevokeSession({ store, clock, sessions }: Deps) {
  return async (principal: PanelPrincipal, sid: string): Promise<{ revoked_sid: string; current: boolean }> => {
    const caller = requireSession(principal);
    if (sid.trim() === '') throw authErrors.session_id_required();
    const session = await store.sessions.bySid(sid);
    if (session?.userId !== caller.user.id || !isLive(session, clock.unix())) throw authErrors.session_not_found();
    if (!(await sessions.end(session, 'user_revoked'))) throw authErrors.session_not_found();
    return { revoked_sid: sid, current: sid === caller.sid };
  };
}

/**
 * Ends all of the user's sessions but the current one, those of older auth versions too, which no
 * list shows.
 */
export function createRevokeOtherSessions({ store, sessions }: Pick<Deps, 'store' | 'sessions'>) {
  return async (principal: PanelPrincipal): Promise<{ revoked_count: number }> => {
    const { user, sid } = requireSession(principal);
    const ending = { userId: user.id, exceptSid: sid, reason: 'user_revoked_others' };
    return { revoked_count: await sessions.endAll(ending, (end) => end(store)) };
  };
}
