import type { SessionBundle } from '../api/types.ts';

/**
 * `unknown`: the server has not been asked, or could not answer. `anonymous`: it said so. The access token lives here, in
 * memory, and nowhere else.
 */
export type SessionSnapshot =
  | { phase: 'unknown' | 'anonymous'; bundle: null }
  | { phase: 'signed_in'; bundle: SessionBundle };

export type SessionState = {
  read(): SessionSnapshot;
  /** Counts the changes: an answer that was asked for before a login or logout is recognised as stale. */
  epoch(): number;
  accept(bundle: SessionBundle): void;
  forget(phase: 'unknown' | 'anonymous'): void;
  subscribe(listener: () => void): () => void;
};

export function createSessionState(): SessionState {
  let snapshot: SessionSnapshot = { phase: 'unknown', bundle: null };
  let epoch = 0;
  const listeners = new Set<() => void>();
  const set = (next: SessionSnapshot): void => {
    snapshot = next;
    epoch += 1;
    for (const listener of listeners) listener();
  };
  return {
    read: () => snapshot,
    epoch: () => epoch,
    accept: (bundle) => set({ phase: 'signed_in', bundle }),
    forget: (phase) => set({ phase, bundle: null }),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
