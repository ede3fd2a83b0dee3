import type { SessionBundle, SessionRotation } from '../api/types.ts';

/**
 * Why a session is over. `revoked`: the server ended it, from another device or because the account
 * changed; `expired`: its time was up; `signed_out`: another tab of this browser signed out.
 */
export type SessionEnd = 'revoked' | 'expired' | 'signed_out';

/**
 * `unknown`: the server has not been asked, or could not answer. `anonymous`: it said so; `end` is
 * null when nobody was signed in or he signed out here. The access token lives here, in memory, and
 * nowhere else.
 */
export type SessionSnapshot =
  | { phase: 'unknown'; bundle: null; end: null }
  | { phase: 'anonymous'; bundle: null; end: SessionEnd | null }
  | { phase: 'signed_in'; bundle: SessionBundle; end: null };

export type SessionState = {
  read(): SessionSnapshot;
  /**
   * Counts the changes: an answer that was asked for before a login or logout is recognised as
   * stale.
   */
  epoch(): number;
  accept(bundle: SessionBundle): void;
  /**
   * The same session with another token, or with newer details of who it is. Nothing where that
   * session or person is signed in no more.
   */
  adopt(changed: SessionRotation | Pick<SessionBundle, 'user'>): void;
  clear(end: SessionEnd | null): void;
  /** Whether the access token has at most `seconds` left, by this machine's clock since it came. */
  expiresWithin(seconds: number): boolean;
  subscribe(listener: () => void): () => void;
};

/** An access token lives for 15 minutes. */
const maxTokenLifeSeconds = 900;

/** `now` in ms. */
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
    // The two machines' clocks need not agree: what counts is how long the server gave.
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
