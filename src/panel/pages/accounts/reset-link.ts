export type ResetLink = { email: string; token: string };

/** What the mailed link carries in its query; empty texts for what it lacks. */
export function readResetLink(search: string): ResetLink {
  const params = new URLSearchParams(search);
  return { email: (params.get('email') ?? '').trim(), token: params.get('token') ?? '' };
}

/**
 * Takes the link's secret out of the address, so that it stays neither in the history nor on the
 * screen.
 */
export function clearAddress(): void {
  if (window.location.search === '') return;
  window.history.replaceState(window.history.state, '', window.location.pathname);
}
