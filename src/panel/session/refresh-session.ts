import { ApiError, UserError } from '../api/api-error.ts';
import type { ApiRequest, SendRequest } from '../api/send-request.ts';
import type { SessionBundle } from '../api/types.ts';
import type { SessionState } from './session-state.ts';

/** Delays before retries after another tab rotated the cookie at the same time. */
const raceDelaysMs = [80, 200, 500];

type RefreshDependencies = {
  send: SendRequest;
  state: SessionState;
  /** Whether this browser probably has a refresh cookie. */
  hasHint(): boolean;
  /** Called when the server says that the session of this tab has ended. */
  onEnded(sid: string): void;
};

/**
 * Creates a function that renews the session from the refresh cookie. Calls are serialized within
 * this tab and, with Web Locks, across tabs. It updates the state to the new token or to signed
 * out.
 * @throws ApiError for any other failure; the state stays unchanged.
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
      // Only a 401 ends the session. Network errors, limits and lost races keep it: a later attempt
      // may succeed.
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
        // The cookie belongs to another login of this browser: ask again for any session.
        heldSid = null;
      } else if (code === 'AUTH_REFRESH_RACE' && delay !== undefined) {
        await new Promise((resolve) => setTimeout(resolve, delay));
      } else {
        throw error;
      }
    }
  }
}

const lockName = 'taskgate:refresh';

/**
 * Runs `work`, whose answer sets or clears the refresh cookie, under a lock shared by all tabs of
 * this origin. Web Locks exist in secure contexts only. Over plain HTTP the work runs at once, and
 * the server's replay window covers overlapping tabs.
 */
export function withRefreshLock<T>(work: () => Promise<T>): Promise<T> {
  const locks: LockManager | undefined = navigator.locks;
  return locks === undefined ? work() : locks.request(lockName, work);
}

export function bearer(bundle: SessionBundle): Record<string, string> {
  return { authorization: `Bearer ${bundle.access_token}` };
}

/** An access token that expires within this many seconds is renewed before use. */
const renewBeforeSeconds = 60;

type RenewingSendDependencies = Pick<RefreshDependencies, 'send' | 'state'> & {
  refresh(): Promise<void>;
  /** Reloads the page: this browser has signed in as another user. */
  reload(): void;
};

/**
 * Sends with the access token, which is renewed shortly before it expires. After a 401 it renews
 * once and sends again.
 */
export function createRenewingSend({ send, state, refresh, reload }: RenewingSendDependencies): SendRequest {
  const renew = async (): Promise<void> => {
    const former = state.read().bundle?.user.id;
    await refresh();
    const present = state.read().bundle?.user.id;
    // The page shows data of the previous user.
    if (former !== undefined && present !== undefined && former !== present) reload();
  };

  const renewIfExpiring = async (): Promise<void> => {
    if (!state.expiresWithin(renewBeforeSeconds)) return;
    try {
      await renew();
    } catch {
      // The token may still be valid for this request; otherwise the 401 says so.
    }
  };

  return async <T>(request: ApiRequest): Promise<T> => {
    const sender = state.read().bundle?.user.id;
    const attempt = async (): Promise<T> => {
      const { bundle } = state.read();
      // A request of one user is never sent in the name of another who has signed in since.
      if (sender !== undefined && bundle !== null && bundle.user.id !== sender) {
        throw new UserError('ended.revoked');
      }
      return send<T>({ ...request, headers: { ...request.headers, ...(bundle === null ? {} : bearer(bundle)) } });
    };
    await renewIfExpiring();
    try {
      return await attempt();
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status === 401;
      if (!isRefused || state.read().phase === 'anonymous') throw error;
      await renew();
      if (state.read().phase !== 'signed_in') throw error;
      return await attempt();
    }
  };
}
