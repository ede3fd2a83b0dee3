/**
 * Whether a refresh cookie was once issued to this browser: the hint cookie is there. It only saves
 * a request; it is no verdict, and cookies that cannot be read count as present.
 */
export function hasSessionHint(): boolean {
  try {
    return document.cookie.split(';').some((pair) => pair.trim() === 'svc_has_session=1');
  } catch {
    return true;
  }
}
