import type { Clock } from '../../kernel/index.ts';
import type { Store, UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { isLive } from './check-session.ts';
import { describeSession, type SessionView } from './describe-session.ts';
import { LISTED_SESSIONS } from './list-sessions.ts';
import type { SessionGate } from './session-gate.ts';

/**
 * Anybody's sessions, for root; that the caller is root is for his role to say, before. His own
 * count among them, the current one too. Every operation rejects with `auth.session_required` for a
 * caller without a session, and `auth.user_not_found`.
 */
export interface UserSessionManagement {
  /** A user's live sessions of his present auth version, the latest active first; at most 100. */
  list(principal: PanelPrincipal, userId: number): Promise<SessionView[]>;
  /**
   * Ends one. Rejects with `auth.session_not_found` when it is not this user's, has ended or never
   * was.
   */
  revoke(principal: PanelPrincipal, userId: number, sid: string): Promise<{ revoked_sid: string; current: boolean }>;
  /** Ends all, those of older auth versions too, which no list shows. */
  revokeAll(principal: PanelPrincipal, userId: number): Promise<{ revoked_count: number }>;
}

const REASON = 'root_revoked';

export function createUserSessionManagement(deps: {
  store: Store;
  clock: Clock;
  sessions: SessionGate;
}): UserSessionManagement {
  const { store, clock, sessions } = deps;

  async function find(userId: number): Promise<UserRecord> {
    const user = await store.users.byId(userId);
    if (!user) throw authErrors.user_not_found();
    return user;
  }

  return {
    async list(principal, userId) {
      const caller = requireSession(principal);
      const user = await find(userId);
      const live = await store.sessions.list({
        userId: user.id,
        authVersion: user.authVersion,
        now: clock.unix(),
        limit: LISTED_SESSIONS,
      });
      return live.map((session) => describeSession(session, caller.sid));
    },

    async revoke(principal, userId, sid) {
      const caller = requireSession(principal);
      const user = await find(userId);
      const session = await store.sessions.bySid(sid);
      if (session?.userId !== user.id || !isLive(session, clock.unix())) throw authErrors.session_not_found();
      if (!(await sessions.end(session, REASON))) throw authErrors.session_not_found();
      return { revoked_sid: sid, current: sid === caller.sid };
    },

    async revokeAll(principal, userId) {
      requireSession(principal);
      const user = await find(userId);
      const ending = { userId: user.id, exceptSid: null, reason: REASON };
      return { revoked_count: await sessions.endAll(ending, (end) => end(store)) };
    },
  };
}
