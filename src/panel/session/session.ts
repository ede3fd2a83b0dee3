import { ApiError } from '../api/api-error.ts';
import type { ApiRequest, SendRequest } from '../api/send-request.ts';
import type { LoginResponse, SessionBundle, SessionRotation } from '../api/types.ts';
import { UserError } from '../api/user-error.ts';
import { createRefresh } from './refresh-session.ts';
import { createSessionState, type SessionSnapshot } from './session-state.ts';
import type { TabChannel } from './sync-tabs.ts';
import { withRefreshLock } from './with-refresh-lock.ts';

export type Session = {
  read(): SessionSnapshot;
  subscribe(listener: () => void): () => void;
  /**
   * Settles who is signed in by asking the server, unless that is known. Throws an `ApiError` for
   * transient trouble.
   */
  restore(): Promise<void>;
  /**
   * Throws the `ApiError` of a refused login. Where the account has a second factor it gives the
   * token of that step, which lives in memory alone, and nobody is signed in yet.
   */
  signIn(username: string, password: string): Promise<string | null>;
  /** The same by another request that ends in a sign-in. */
  signInWith(request: ApiRequest): Promise<string | null>;
  /**
   * The second factor: a code of the authenticator app, or a backup code. Throws the `ApiError` of
   * a refused one.
   */
  finishSignIn(flowToken: string, code: string): Promise<void>;
  /**
   * Takes over what a change of the own account answered: the access token of the session that goes
   * on, or newer details.
   */
  adopt(changed: SessionRotation | Pick<SessionBundle, 'user'>): void;
  /**
   * Ends the session on the server. Throws when the server did not confirm it: then the session
   * still lives.
   */
  signOut(): Promise<void>;
  /**
   * Sends with the access token, which is renewed shortly before its end; a refused one is renewed
   * once and the request sent again. Throws a `UserError` where the renewal found somebody else
   * signed in.
   */
  send: SendRequest;
};

export type SessionDependencies = {
  send: SendRequest;
  tabs: TabChannel;
  /** Whether this browser was once given a refresh cookie, as far as one can see. */
  hasHint(): boolean;
  /** Loads the page anew: this browser has signed in as somebody else. */
  reload(): void;
  /** In ms. */
  now(): number;
};

/** An access token with less life than this, in seconds, is renewed before it is used. */
const renewBeforeSeconds = 60;

/** The panel's login session: one object for the whole page. */
export function createSession({ send, tabs, hasHint, reload, now }: SessionDependencies): Session {
  const state = createSessionState(now);
  const refresh = createRefresh({ send, state, hasHint, onEnded: (sid) => tabs.publish({ kind: 'signed_out', sid }) });
  const currentSid = (): string | null => state.read().bundle?.session.sid ?? null;

  tabs.subscribe(({ kind, sid }) => {
    const held = currentSid();
    if (kind === 'signed_out' && sid === held) state.clear('signed_out');
    if (kind === 'authenticated' && sid !== held) reload();
  });

  /**
   * After a refresh that is on its way: its answer would bring back the cookies that this one
   * clears.
   */
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

  const renew = async (): Promise<void> => {
    const former = state.read().bundle?.user.id;
    await refresh();
    const present = state.read().bundle?.user.id;
    // The page is full of what the former user may see.
    if (former !== undefined && present !== undefined && former !== present) reload();
  };

  const renewIfExpiring = async (): Promise<void> => {
    if (!state.expiresWithin(renewBeforeSeconds)) return;
    try {
      await renew();
    } catch {
      // The token may be good for this request yet; if not, its refusal says so.
    }
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
        // The cookie belongs to another login of this browser: that is the one to end.
        await refresh();
        if (state.read().phase === 'signed_in') await logOut();
      }
      state.clear(null);
      if (sid !== null) tabs.publish({ kind: 'signed_out', sid });
    },
    send: async <T>(request: ApiRequest): Promise<T> => {
      const sender = state.read().bundle?.user.id;
      const attempt = async (): Promise<T> => {
        const { bundle } = state.read();
        // What one user wanted is not done in the name of another who has signed in meanwhile.
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
    },
  };
}

function bearer(bundle: SessionBundle): Record<string, string> {
  return { authorization: `Bearer ${bundle.access_token}` };
}
