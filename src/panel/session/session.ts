import { ApiError } from '../api/api-error.ts';
import type { ApiRequest, SendRequest } from '../api/send-request.ts';
import type { LoginResponse, SessionBundle, SessionRotation } from '../api/types.ts';
import { forgetLists } from './panel-address.ts';
import { bearer, createRefresh, createRenewingSend, withRefreshLock } from './refresh-session.ts';
import { createSessionState, type SessionSnapshot } from './session-state.ts';
import type { TabChannel } from './sync-tabs.ts';

export type Session = {
  read(): SessionSnapshot;
  subscribe(listener: () => void): () => void;
  /**
   * Finds out who is signed in by asking the server, unless it is known.
   * @throws ApiError for transient failures.
   */
  restore(): Promise<void>;
  /**
   * Signs in with a password. With a second factor it returns the flow token of that step, which is
   * kept in memory only; nobody is signed in yet.
   * @throws ApiError if the login is refused.
   */
  signIn(username: string, password: string): Promise<string | null>;
  /** Signs in with any request that ends in a session; returns as `signIn` does. */
  signInWith(request: ApiRequest): Promise<string | null>;
  /**
   * Second factor: a code of the authenticator app or a backup code.
   * @throws ApiError if it is refused.
   */
  finishSignIn(flowToken: string, code: string): Promise<void>;
  /**
   * Takes over the new access token or user details from the answer to a change of the own account.
   */
  adopt(changed: SessionRotation | Pick<SessionBundle, 'user'>): void;
  /**
   * Ends the session on the server.
   * @throws if the server did not confirm it: the session is still valid.
   */
  signOut(): Promise<void>;
  /**
   * Sends with the access token, which is renewed shortly before it expires. After a 401 it renews
   * once and sends again.
   * @throws UserError if the renewal found another user signed in.
   */
  send: SendRequest;
};

type SessionDependencies = {
  send: SendRequest;
  tabs: TabChannel;
  /** Whether this browser probably has a refresh cookie. */
  hasHint(): boolean;
  /** Reloads the page: this browser has signed in as another user. */
  reload(): void;
  /** Current time in ms. */
  now(): number;
};

/** Creates the login session: one object per page. */
export function createSession({ send, tabs, hasHint, reload, now }: SessionDependencies): Session {
  const state = createSessionState(now);
  const refresh = createRefresh({ send, state, hasHint, onEnded: (sid) => tabs.publish({ kind: 'signed_out', sid }) });
  const currentSid = (): string | null => state.read().bundle?.session.sid ?? null;

  tabs.subscribe(({ kind, sid }) => {
    const held = currentSid();
    if (kind === 'signed_out' && sid === held) state.clear('signed_out');
    if (kind === 'authenticated' && sid !== held) reload();
  });

  /** Runs after a refresh in progress, whose answer would set the cookies again. */
  const logOut = (): Promise<unknown> =>
    withRefreshLock(() => {
      const { bundle } = state.read();
      return send({
        method: 'POST',
        path: '/api/user/auth/logout',
        ...(bundle === null ? {} : { headers: { ...bearer(bundle), 'x-auth-session': bundle.session.sid } }),
      });
    });

  const startSession = (bundle: SessionBundle): void => {
    state.accept(bundle);
    tabs.publish({ kind: 'authenticated', sid: bundle.session.sid });
  };

  const signInWith = async (request: ApiRequest): Promise<string | null> => {
    const answer = await send<LoginResponse>(request);
    if ('require_2fa' in answer) return answer.flow_token;
    startSession(answer);
    return null;
  };

  return {
    read: state.read,
    subscribe: state.subscribe,
    restore: async () => {
      if (state.read().phase === 'unknown') await refresh();
    },
    signIn: (username, password) =>
      signInWith({ method: 'POST', path: '/api/user/auth/login', body: { username, password } }),
    signInWith,
    finishSignIn: async (flowToken, code) => {
      const body = { flow_token: flowToken, code };
      startSession(await send<SessionBundle>({ method: 'POST', path: '/api/user/login/2fa', body }));
    },
    adopt: state.adopt,
    signOut: async () => {
      const sid = currentSid();
      try {
        await logOut();
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'AUTH_SESSION_MISMATCH') throw error;
        // The cookie belongs to another login of this browser: end that one.
        await refresh();
        if (state.read().phase === 'signed_in') await logOut();
      }
      // What was typed in the playground is not left to the next person at this browser.
      forgetDrafts();
      forgetLists();
      state.clear(null);
      if (sid !== null) tabs.publish({ kind: 'signed_out', sid });
    },
    send: createRenewingSend({ send, state, refresh, reload }),
  };
}

/** Removes the requests that the playground keeps in this browser. */
function forgetDrafts(): void {
  try {
    localStorage.removeItem('taskgate.drafts');
  } catch {
    // Blocked: there are none.
  }
}
