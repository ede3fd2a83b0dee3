import { ApiError } from '../api/api-error.ts';
import type { ApiRequest, SendRequest } from '../api/send-request.ts';
import type { LoginAnswer, SessionBundle } from '../api/types.ts';
import { createRefresh } from './refresh-session.ts';
import { createSessionState, type SessionSnapshot } from './session-state.ts';
import type { TabChannel } from './sync-tabs.ts';

export type Session = {
  read(): SessionSnapshot;
  subscribe(listener: () => void): () => void;
  /** Settles who is signed in by asking the server, unless that is known. Throws an `ApiError` for transient trouble. */
  restore(): Promise<void>;
  /**
   * Throws the `ApiError` of a refused login. Where the account has a second factor it gives the token of that step, which lives
   * in memory alone, and nobody is signed in yet.
   */
  signIn(username: string, password: string): Promise<string | null>;
  /** The same by another request that ends in a sign-in. */
  signInAt(request: ApiRequest): Promise<string | null>;
  /** The second factor: a code of the authenticator app, or a backup code. Throws the `ApiError` of a refused one. */
  finishSignIn(flowToken: string, code: string): Promise<void>;
  /** Ends the session on the server. Throws when the server did not confirm it: then the session still lives. */
  signOut(): Promise<void>;
  /** Sends with the access token; a refused token is renewed once and the request sent again. */
  send: SendRequest;
};

export type SessionDependencies = {
  send: SendRequest;
  tabs: TabChannel;
  /** Loads the page anew: another tab has signed in as somebody else. */
  reload(): void;
};

/** The panel's login session: one object for the whole page. */
export function createSession({ send, tabs, reload }: SessionDependencies): Session {
  const state = createSessionState();
  const refresh = createRefresh({ send, state, onEnded: (sid) => tabs.publish({ kind: 'signed_out', sid }) });
  const currentSid = (): string | null => state.read().bundle?.session.sid ?? null;

  tabs.subscribe(({ kind, sid }) => {
    const held = currentSid();
    if (kind === 'signed_out' && sid === held) state.forget('anonymous');
    if (kind === 'authenticated' && sid !== held) reload();
  });

  const logOut = (): Promise<unknown> => {
    const { bundle } = state.read();
    return send({
      method: 'POST',
      path: '/api/user/auth/logout',
      ...(bundle === null ? {} : { headers: { ...bearer(bundle), 'x-auth-session': bundle.session.sid } }),
    });
  };

  const begin = (bundle: SessionBundle): void => {
    state.accept(bundle);
    tabs.publish({ kind: 'authenticated', sid: bundle.session.sid });
  };

  const signInAt = async (request: ApiRequest): Promise<string | null> => {
    const answer = await send<LoginAnswer>(request);
    if ('require_2fa' in answer) return answer.flow_token;
    begin(answer);
    return null;
  };

  return {
    read: state.read,
    subscribe: state.subscribe,
    restore: async () => {
      if (state.read().phase === 'unknown') await refresh();
    },
    signIn: (username, password) => signInAt({ method: 'POST', path: '/api/user/login', body: { username, password } }),
    signInAt,
    finishSignIn: async (flowToken, code) => {
      const body = { flow_token: flowToken, code };
      begin(await send<SessionBundle>({ method: 'POST', path: '/api/user/login/2fa', body }));
    },
    signOut: async () => {
      const sid = currentSid();
      try {
        await logOut();
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'AUTH_SESSION_MISMATCH') throw error;
        await refresh();
        if (state.read().phase === 'signed_in') await logOut();
      }
      state.forget('anonymous');
      if (sid !== null) tabs.publish({ kind: 'signed_out', sid });
    },
    send: async <T>(request: ApiRequest): Promise<T> => {
      const attempt = (): Promise<T> => {
        const { bundle } = state.read();
        return send<T>({ ...request, headers: { ...request.headers, ...(bundle === null ? {} : bearer(bundle)) } });
      };
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 401) throw error;
        await refresh();
        if (state.read().phase !== 'signed_in') throw error;
        return await attempt();
      }
    },
  };
}

function bearer(bundle: SessionBundle): Record<string, string> {
  return { authorization: `Bearer ${bundle.access_token}` };
}
