/**
 * Whether the hint cookie says that a refresh cookie exists. It only saves a request and proves
 * nothing. If cookies cannot be read, it counts as present.
 */
export function hasSessionHint(): boolean {
  try {
    return document.cookie.split(';').some((pair) => pair.trim() === 'svc_has_session=1');
  } catch {
    return true;
  }
}
