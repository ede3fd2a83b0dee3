import { httpErrors } from './errors.ts';

/**
 * For sign-ins by GET, which a page of our own fetches: refuses what a link or a page of another site makes a browser open, since its
 * answer would sign a visitor in as somebody else. Browsers say where a request comes from on https and localhost; elsewhere a
 * navigation is known by asking for a page.
 * @throws http.origin_forbidden
 */
export function refuseNavigation({ headers }: Request): void {
  const site = headers.get('sec-fetch-site');
  const foreign = site === null ? headers.get('accept')?.includes('text/html') : site !== 'same-origin';
  if (foreign) throw httpErrors.origin_forbidden();
}
