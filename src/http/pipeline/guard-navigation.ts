import { httpErrors } from '../errors.ts';

/**
 * Refuses a request that a script of this origin has not made: `GET` addresses that sign somebody
 * in must not work as links, or another site could sign a visitor in as somebody of its choice
 * (login CSRF). Browsers name the site and the mode of a request; without TLS they do not, but a
 * navigation still asks for HTML.
 * @throws http.origin_forbidden
 */
export function guardNavigation(headers: Headers): void {
  const site = headers.get('sec-fetch-site') ?? 'same-origin';
  const navigates = headers.get('sec-fetch-mode') === 'navigate' || (headers.get('accept') ?? '').includes('text/html');
  if (site !== 'same-origin' || navigates) {
    throw httpErrors.origin_forbidden({ message: 'This address is for the panel to call, not to be opened.' });
  }
}
