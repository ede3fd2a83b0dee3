import { sentence, trimTrailing } from '../../kernel/index.ts';
import { providerFailed } from './identity-provider.ts';

/**
 * Mix-up defence (RFC 9207 2.4). In addition, each provider has its own redirect address.
 *
 * @throws `auth.provider_failed` for an answer of another issuer, or without an issuer where the
 * provider always names itself.
 */
export function checkIssuer(
  { issuer, sendsIssuer }: { issuer: string; sendsIssuer: boolean },
  iss: string | undefined,
): void {
  if (iss === undefined ? sendsIssuer : iss !== issuer) {
    throw providerFailed(sentence('oauth.stranger'));
  }
}

const OIDC_SUFFIX = '/.well-known/openid-configuration';
const OAUTH_PREFIX = '/.well-known/oauth-authorization-server';

/**
 * A standard document URL determines the issuer. For a URL of another form, at least the origins
 * must match.
 */
export function mayIssue(wellKnown: URL, issuer: URL): boolean {
  if (issuer.origin !== wellKnown.origin) return false;
  const { pathname } = wellKnown;
  const path = trimTrailing(issuer.pathname, '/');
  if (pathname.endsWith(OIDC_SUFFIX)) return path === pathname.slice(0, -OIDC_SUFFIX.length);
  if (pathname.startsWith(OAUTH_PREFIX)) return path === trimTrailing(pathname.slice(OAUTH_PREFIX.length), '/');
  return true;
}

/** The URL of an issuer's discovery document (OpenID Connect Discovery 4). */
export const toWellKnownUrl = (issuer: string): string => `${trimTrailing(issuer, '/')}${OIDC_SUFFIX}`;
