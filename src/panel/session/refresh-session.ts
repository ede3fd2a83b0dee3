import { ApiError } from '../api/api-error.ts';
import type { SendRequest } from '../api/send-request.ts';
import type { SessionBundle } from '../api/types.ts';
import type { SessionState } from './session-state.ts';
import { withRefreshLock } from './with-refresh-lock.ts';

/** Waits before another try when a second tab rotated the cookie in the same moment. */
const raceDelaysMs = [80, 200, 500];

export type RefreshDependencies = {
  send: SendRequest;
  state: SessionState;
  /** Whether this browser was once given a refresh cookie, as far as one can see. */
  hasHint(): boolean;
  /** Called when the server said that a session which this tab held has ended. */
  onEnded(sid: string): void;
};

/**
 * Gives a function that renews the session from the refresh cookie, one call at a time in this tab
 * and, where the browser can, among tabs. It settles the state as the server says: a new token, or
 * the end. It throws an `ApiError` for everything else, which leaves the state as it was.
 */
export function createRefresh({ send, state, hasHint, onEnded }: RefreshDependencies): () => Promise<void> {
  let running: Promise<void> | null = null;

  const refresh = async (): Promise<void> => {
    const epoch = state.epoch();
    const sid = state.read().bundle?.session.sid ?? null;
    const hadSession = sid !== null || hasHint();
    try {
      const bundle = await requestRefresh(send, sid);
      if (state.epoch() === epoch) state.accept(bundle);
    } catch (error) {
      // Nothing else says that the session is over: trouble, limits and lost races keep the state,
      // and a later try may succeed.
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      if (state.epoch() !== epoch) return;
      const end = error.code === 'AUTH_SESSION_REVOKED' ? 'revoked' : 'expired';
      state.clear(hadSession ? end : null);
      if (sid !== null) onEnded(sid);
    }
  };

  return () => {
    running ??= withRefreshLock(refresh).finally(() => {
      running = null;
    });
    return running;
  };
}

async function requestRefresh(send: SendRequest, sid: string | null): Promise<SessionBundle> {
  let heldSid = sid;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await send<SessionBundle>({
        method: 'POST',
        path: '/api/user/auth/refresh',
        ...(heldSid === null ? {} : { headers: { 'x-auth-session': heldSid } }),
      });
    } catch (error) {
      const code = error instanceof ApiError ? error.code : '';
      const delay = raceDelaysMs[attempt];
      if (code === 'AUTH_SESSION_MISMATCH' && heldSid !== null) {
        // The cookie belongs to another login of this browser: ask once more for whichever session
        // it is.
        heldSid = null;
      } else if (code === 'AUTH_REFRESH_RACE' && delay !== undefined) {
        await new Promise((resolve) => setTimeout(resolve, delay));
      } else {
        throw error;
      }
    }
  }
}
