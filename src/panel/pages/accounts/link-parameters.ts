/** The API's maximum length. */
const maxLength = 64;

/** The affiliate code from the `aff` query parameter; empty if it is missing or too long. */
export function readAffiliateCode(params: URLSearchParams): string {
  const code = (params.get('aff') ?? '').trim();
  return code.length <= maxLength ? code : '';
}

/** The code as a query string for a link to another page. */
export function affiliateQuery(params: URLSearchParams): string {
  const code = readAffiliateCode(params);
  return code === '' ? '' : `?${new URLSearchParams({ aff: code })}`;
}

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
