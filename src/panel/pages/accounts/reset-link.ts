export type ResetLink = { email: string; token: string };

/** The query of the mailed link; missing parts are empty. */
export function readResetLink(search: string): ResetLink {
  const params = new URLSearchParams(search);
  return { email: (params.get('email') ?? '').trim(), token: params.get('token') ?? '' };
}

/** Removes the link's secret from the address bar and the history. */
export function clearAddress(): void {
  if (window.location.search === '') return;
  window.history.replaceState(window.history.state, '', window.location.pathname);
}
