import type { SessionBundle, SessionRotation } from '../api/types.ts';

/**
 * Why a session ended. `revoked`: ended by the server, from another device or because the account
 * changed. `expired`: its lifetime is over. `signed_out`: another tab of this browser signed out.
 */
export type SessionEnd = 'revoked' | 'expired' | 'signed_out';

/**
 * `unknown`: the server was not asked yet or could not answer. `anonymous`: nobody is signed in;
 * `end` is null if nobody was, or if they signed out here. The access token is kept here in memory
 * and nowhere else.
 */
export type SessionSnapshot =
  | { phase: 'unknown'; bundle: null; end: null }
  | { phase: 'anonymous'; bundle: null; end: SessionEnd | null }
  | { phase: 'signed_in'; bundle: SessionBundle; end: null };

export type SessionState = {
  read(): SessionSnapshot;
  /**
   * Incremented with every change: an answer to a request from before a login or logout is
   * recognised as stale.
   */
  epoch(): number;
  accept(bundle: SessionBundle): void;
  /**
   * Updates the session's token or its user. Ignored if that session or user is no longer signed
   * in.
   */
  adopt(changed: SessionRotation | Pick<SessionBundle, 'user'>): void;
  clear(end: SessionEnd | null): void;
  /**
   * Whether the access token expires within `seconds`, measured by this machine's clock since it
   * arrived.
   */
  expiresWithin(seconds: number): boolean;
  subscribe(listener: () => void): () => void;
};

/** The lifetime of an access token: 15 minutes. */
const maxTokenLifeSeconds = 900;

/** `now` returns ms. */
export function createSessionState(now: () => number): SessionState {
  let snapshot: SessionSnapshot = { phase: 'unknown', bundle: null, end: null };
  let epoch = 0;
  let expiresAt = 0;
  const listeners = new Set<() => void>();

  const set = (next: SessionSnapshot): void => {
    snapshot = next;
    epoch += 1;
    for (const listener of listeners) listener();
  };
  const accept = (bundle: SessionBundle): void => {
    // The clocks may differ, so the lifetime is used and not the expiry time.
    const life = bundle.access_expires_at - bundle.session.last_active_at;
    expiresAt = now() + 1000 * Math.min(Math.max(life, 0), maxTokenLifeSeconds);
    set({ phase: 'signed_in', bundle, end: null });
  };

  return {
    read: () => snapshot,
    epoch: () => epoch,
    accept,
    adopt: (changed) => {
      const { bundle } = snapshot;
      if (bundle === null) return;
      const isOther =
        'user' in changed ? changed.user.id !== bundle.user.id : changed.session.sid !== bundle.session.sid;
      if (isOther) return;
      const next = { ...bundle, ...changed };
      if ('access_token' in changed) accept(next);
      else set({ phase: 'signed_in', bundle: next, end: null });
    },
    clear: (end) => set({ phase: 'anonymous', bundle: null, end }),
    expiresWithin: (seconds) => snapshot.phase === 'signed_in' && expiresAt - now() <= seconds * 1000,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
