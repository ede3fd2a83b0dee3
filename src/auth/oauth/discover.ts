import { type Clock, isObject, parseJson, trimTrailing, type WatchCache } from '../../kernel/index.ts';
import type { CallProvider } from '../../upstream/index.ts';
import { providerFailed } from './identity-provider.ts';
import { requestOrFail } from './oauth-requests.ts';

/**
 * What is used of a discovery document (OpenID Connect Discovery 3, RFC 8414 2). Absent endpoints
 * are empty.
 */
export type ProviderMetadata = {
  issuer: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  userInfoEndpoint: string;
  jwksUri: string;
  /** undefined: the document does not say. */
  signingAlgorithms: string[] | undefined;
  tokenAuthMethods: string[] | undefined;
  scopes: string[] | undefined;
  /** Its authorization answers carry `iss` (RFC 9207). */
  sendsIssuer: boolean;
};

/**
 * Works with the document at an address, which is kept for an hour. Work that fails makes the next
 * one read it again: what the document says may be what has changed.
 */
export type UseMetadata = <T>(
  wellKnown: string,
  ask: CallProvider,
  work: (metadata: ProviderMetadata) => Promise<T>,
) => Promise<T>;

const KEPT_SECONDS = 3600;
/** Documents kept at once: as many as providers, and some whose address has changed since. */
const MAX_KEPT = 100;
/** Longest address that a discovery document may name. */
export const MAX_NAMED_ADDRESS = 2048;

export function createUseMetadata(clock: Clock, watchCache?: WatchCache): UseMetadata {
  const known = new Map<string, { metadata: ProviderMetadata; until: number }>();
  watchCache?.('discovery_documents', () => known.size);

  async function read(wellKnown: string, ask: CallProvider): Promise<ProviderMetadata> {
    const kept = known.get(wellKnown);
    if (kept && kept.until > clock.unix()) return kept.metadata;
    const metadata = await discover(wellKnown, ask);
    known.delete(wellKnown);
    known.set(wellKnown, { metadata, until: clock.unix() + KEPT_SECONDS });
    const [oldest] = known.keys();
    if (known.size > MAX_KEPT && oldest !== undefined) known.delete(oldest);
    return metadata;
  }

  return async (wellKnown, ask, work) => {
    try {
      return await work(await read(wellKnown, ask));
    } catch (error) {
      known.delete(wellKnown);
      throw error;
    }
  };
}

/** Reads a discovery document. Rejects with `auth.provider_failed`. */
export async function discover(wellKnown: string, ask: CallProvider): Promise<ProviderMetadata> {
  const answer = await requestOrFail(ask, 'discovery', { url: wellKnown });
  if (answer.status !== 200) {
    throw providerFailed(`The discovery document of the provider was answered with status ${answer.status}.`);
  }
  const document = parseJson(answer.text);
  if (!isObject(document)) throw providerFailed('The discovery document of the provider is no JSON object.');
  const { issuer } = document;
  if (!isAddress(issuer) || !mayIssue(new URL(wellKnown), new URL(issuer))) {
    throw providerFailed('The discovery document names another issuer than the one whose address it has.');
  }
  // A document that came over TLS hands nobody on to a connection without.
  const scheme = new URL(wellKnown).protocol === 'https:' ? /^https:$/ : /^https?:$/;
  const endpoint = (name: string): string => {
    const value = document[name];
    if (value === undefined || value === null) return '';
    if (!isAddress(value) || !scheme.test(new URL(value).protocol))
      throw providerFailed(`The discovery document has an unusable ${name}.`);
    return value;
  };
  return {
    issuer,
    authorizationEndpoint: endpoint('authorization_endpoint'),
    tokenEndpoint: endpoint('token_endpoint'),
    userInfoEndpoint: endpoint('userinfo_endpoint'),
    jwksUri: endpoint('jwks_uri'),
    signingAlgorithms: readTexts(document.id_token_signing_alg_values_supported),
    tokenAuthMethods: readTexts(document.token_endpoint_auth_methods_supported),
    scopes: readTexts(document.scopes_supported),
    sendsIssuer: document.authorization_response_iss_parameter_supported === true,
  };
}

const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_NAMED_ADDRESS && URL.canParse(value);

const OIDC_SUFFIX = '/.well-known/openid-configuration';
const OAUTH_PREFIX = '/.well-known/oauth-authorization-server';

/**
 * The address of an issuer's document says who the issuer is; at an address of another form at
 * least the origin must be his.
 */
function mayIssue(wellKnown: URL, issuer: URL): boolean {
  if (issuer.origin !== wellKnown.origin) return false;
  const { pathname } = wellKnown;
  const path = trimTrailing(issuer.pathname, '/');
  if (pathname.endsWith(OIDC_SUFFIX)) return path === pathname.slice(0, -OIDC_SUFFIX.length);
  if (pathname.startsWith(OAUTH_PREFIX)) return path === trimTrailing(pathname.slice(OAUTH_PREFIX.length), '/');
  return true;
}

/** Where the discovery document of an issuer is (OpenID Connect Discovery 4). */
export const wellKnownOf = (issuer: string): string => `${trimTrailing(issuer, '/')}${OIDC_SUFFIX}`;

const readTexts = (value: unknown): string[] | undefined =>
  Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : undefined;

/**
 * Mix-up defence (RFC 9207 2.4): an answer of another issuer, or of none where the provider always
 * names itself, is refused with `auth.provider_failed`. The redirect address is each provider's own
 * besides.
 */
export function checkIssuer({ issuer, sendsIssuer }: ProviderMetadata, iss: string | undefined): void {
  if (iss === undefined ? sendsIssuer : iss !== issuer) {
    throw providerFailed('The answer does not come from the provider that was asked.');
  }
}
