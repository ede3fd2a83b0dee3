import type { Clock } from '../../kernel/index.ts';
import type { Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { authErrors } from '../errors.ts';
import { type PanelPrincipal, requireSession } from '../principals.ts';
import { idleUntil, isLive } from './check-session.ts';
import { describeSession, type SessionView } from './describe-session.ts';
import type { SessionRegistry } from './session-registry.ts';

type ListDeps = { store: Store; clock: Clock; config: Pick<AuthConfig, 'sessionIdleSeconds'> };

/** The value is that of new-api. */
const LISTED_SESSIONS = 100;

function listLive({ store, clock, config }: ListDeps, { id: userId, authVersion }: UserRecord) {
  const now = clock.unix();
  const limit = LISTED_SESSIONS;
  return store.sessions.list({ userId, authVersion, now, usedAfter: idleUntil(config, now), limit });
}

/**
 * The user's live sessions of the present auth version: the current one first, then by latest
 * activity; at most 100.
 */
export async function listSessions(ctx: ListDeps, principal: PanelPrincipal): Promise<SessionView[]> {
  const { user, sid } = requireSession(principal);
  const latest = await listLive(ctx, user);
  const current = latest.find((session) => session.sid === sid) ?? (await ctx.store.sessions.bySid(sid));
  const others = latest.filter((session) => session.sid !== sid);
  return [...(current ? [current] : []), ...others]
    .slice(0, LISTED_SESSIONS)
    .map((session) => describeSession(session, sid));
}

/**
 * Ends one of the caller's own sessions, the current one included.
 *
 * @throws `auth.session_id_required` for a blank id. `auth.session_not_found` alike for a session
 * of another user, one that has ended and one that never existed.
 */
export async function revokeSession(
  { store, clock, sessions }: { store: Store; clock: Clock; sessions: SessionRegistry },
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
  { store, sessions }: { store: Store; sessions: SessionRegistry },
  principal: PanelPrincipal,
): Promise<{ revoked_count: number }> {
  const { user, sid } = requireSession(principal);
  const ending = { userId: user.id, exceptSid: sid, reason: 'user_revoked_others' };
  return { revoked_count: await sessions.endAll(ending, (end) => end(store)) };
}

/*
 * Any user's sessions, for root. The HTTP room checks before that the caller is root. Root's own
 * sessions count too, the current one included. Every operation rejects with
 * `auth.session_required` for a caller without a session, and with `auth.user_not_found`.
 */

const REASON = 'root_revoked';

/** A user's live sessions of the present auth version, the latest active first; at most 100. */
export async function listUserSessions(
  ctx: ListDeps,
  principal: PanelPrincipal,
  userId: number,
): Promise<SessionView[]> {
  const caller = requireSession(principal);
  const live = await listLive(ctx, await findUser(ctx, userId));
  return live.map((session) => describeSession(session, caller.sid));
}

/** @throws `auth.session_not_found` when it is not this user's, has ended or never existed. */
export async function revokeUserSession(
  ctx: { store: Store; clock: Clock; sessions: SessionRegistry },
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
  ctx: { store: Store; sessions: SessionRegistry },
  principal: PanelPrincipal,
  userId: number,
): Promise<{ revoked_count: number }> {
  const { store, sessions } = ctx;
  requireSession(principal);
  const user = await findUser(ctx, userId);
  const ending = { userId: user.id, exceptSid: null, reason: REASON };
  return { revoked_count: await sessions.endAll(ending, (end) => end(store)) };
}

async function findUser({ store }: { store: Store }, userId: number): Promise<UserRecord> {
  const user = await store.users.byId(userId);
  if (!user) throw authErrors.user_not_found();
  return user;
}
