import { constantTimeEqual, sentence } from '../../kernel/index.ts';
import { httpErrors } from '../responses/errors.ts';

export type OriginGuardConfig = {
  /** SESSION_COOKIE_SECURE: without it the guard is off. */
  secure: boolean;
  /** SESSION_COOKIE_TRUSTED_URL, exact origins. */
  trustedOrigins: readonly string[];
  /** This listener itself speaks TLS. `X-Forwarded-Proto` is not trusted. */
  tls: boolean;
};

/**
 * Refuses a refresh or sign-out sent by a page of another site. The origin is `Origin`, or a single
 * `Referer` if that is absent. It must be the request's own origin or a trusted one. A request with
 * neither header is refused: every browser sends one with a POST.
 * @throws http.origin_forbidden
 */
export function guardOrigin(headers: Headers, config: OriginGuardConfig): void {
  if (!config.secure) return;
  const claimed = claimedOrigin(headers);
  const own = parseOrigin(`${config.tls ? 'https' : 'http'}://${headers.get('host') ?? ''}`);
  const allowed = own === undefined ? config.trustedOrigins : [own, ...config.trustedOrigins];
  if (claimed === undefined || !allowed.some((origin) => constantTimeEqual(origin, claimed))) {
    throw httpErrors.origin_forbidden();
  }
}

function claimedOrigin(headers: Headers): string | undefined {
  const origin = headers.get('origin');
  if (origin !== null) {
    // A repeated header arrives joined by commas, and an opaque origin is the word `null`. Neither
    // equals its own parsed form.
    return parseOrigin(origin) === origin.toLowerCase() ? origin.toLowerCase() : undefined;
  }
  const referer = headers.get('referer');
  // Repeated headers arrive joined by a comma and a space. The address of one page contains neither
  // a space nor a second scheme.
  if (referer === null || /\s|,https?:\/\//i.test(referer)) return undefined;
  return parseOrigin(referer);
}

function parseOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.username || url.password || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined;
  return url.origin;
}

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
    throw httpErrors.origin_forbidden({ message: sentence('http.navigation') });
  }
}
