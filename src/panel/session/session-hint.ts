/** Says in this browser that a session was begun at this origin. It is not a credential. */
const MARKER = 'taskgate.signed_in';

/**
 * Whether a refresh cookie probably exists: by the hint cookie, or by the marker of this origin,
 * since another gateway on another port of this host clears the hint. It only saves a request and
 * proves nothing. If cookies cannot be read, it counts as present.
 */
export function hasSessionHint(): boolean {
  try {
    const hints = document.cookie.split(';').some((pair) => pair.trim() === 'svc_has_session=1');
    return hints || localStorage.getItem(MARKER) === '1';
  } catch {
    return true;
  }
}

/** Keeps the marker while somebody is signed in. */
export function markSession(phase: 'unknown' | 'anonymous' | 'signed_in'): void {
  try {
    if (phase === 'signed_in') localStorage.setItem(MARKER, '1');
    if (phase === 'anonymous') localStorage.removeItem(MARKER);
  } catch {
    // Blocked: the hint cookie is left.
  }
}
