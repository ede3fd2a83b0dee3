import { httpErrors } from '../errors.ts';

/**
 * Refuses a request that does not come from a script of this origin. `GET` addresses that sign a
 * user in must not work as links: another site could sign a visitor in to an account of its choice
 * (login CSRF). Browsers send the site and the mode of a request; without TLS they do not, but a
 * navigation still asks for HTML.
 * @throws http.origin_forbidden
 */
export function guardNavigation(headers: Headers): void {
  const site = headers.get('sec-fetch-site') ?? 'same-origin';
  const navigates = headers.get('sec-fetch-mode') === 'navigate' || (headers.get('accept') ?? '').includes('text/html');
  if (site !== 'same-origin' || navigates) {
    throw httpErrors.origin_forbidden({ message: 'Only the panel may call this address; do not open it as a page.' });
  }
}
