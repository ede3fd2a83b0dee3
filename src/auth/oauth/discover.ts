import { type Clock, isObject, parseJson, type ReportCacheSize, sentence } from '../../kernel/index.ts';
import type { CallProvider } from '../../upstream/index.ts';
import { mayIssue } from './check-issuer.ts';
import { providerFailed } from './identity-provider.ts';
import { requestOrFail } from './oauth-requests.ts';

/**
 * The parts of a discovery document that we use (OpenID Connect Discovery 3, RFC 8414 2). Missing
 * endpoints are empty.
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
 * Runs `work` with the document at an address, cached for an hour. When `work` fails, the cached
 * document is dropped: it may be outdated.
 */
export type UseMetadata = <T>(
  wellKnown: string,
  call: CallProvider,
  work: (metadata: ProviderMetadata) => Promise<T>,
) => Promise<T>;

const CACHE_MS = 3_600_000;
/** Cached documents: one per provider, and some whose address has changed since. */
const MAX_CACHED = 100;
/** Longest URL that a discovery document may name. */
const MAX_NAMED_ADDRESS = 2048;

export function createUseMetadata(clock: Clock, reportCacheSize?: ReportCacheSize): UseMetadata {
  const cache = new Map<string, { metadata: ProviderMetadata; untilMs: number }>();
  reportCacheSize?.('discovery_documents', () => cache.size);

  async function read(wellKnown: string, call: CallProvider): Promise<ProviderMetadata> {
    const cached = cache.get(wellKnown);
    if (cached && clock.monotonicMs() < cached.untilMs) return cached.metadata;
    const metadata = await discover(wellKnown, call);
    cache.delete(wellKnown);
    cache.set(wellKnown, { metadata, untilMs: clock.monotonicMs() + CACHE_MS });
    const [oldest] = cache.keys();
    if (cache.size > MAX_CACHED && oldest !== undefined) cache.delete(oldest);
    return metadata;
  }

  return async (wellKnown, call, work) => {
    try {
      return await work(await read(wellKnown, call));
    } catch (error) {
      cache.delete(wellKnown);
      throw error;
    }
  };
}

/**
 * Reads a discovery document.
 *
 * @throws `auth.provider_failed`
 */
export async function discover(wellKnown: string, call: CallProvider): Promise<ProviderMetadata> {
  const answer = await requestOrFail(call, 'discovery', { url: wellKnown });
  if (answer.status !== 200) {
    throw providerFailed(sentence('oidc.status', { status: answer.status }));
  }
  const document = parseJson(answer.text);
  if (!isObject(document)) throw providerFailed(sentence('oidc.not_json'));
  const { issuer } = document;
  if (!isAddress(issuer) || !mayIssue(new URL(wellKnown), new URL(issuer))) {
    throw providerFailed(sentence('oidc.issuer'));
  }
  // A document that came over TLS must not name endpoints without TLS.
  const scheme = new URL(wellKnown).protocol === 'https:' ? /^https:$/ : /^https?:$/;
  const endpoint = (name: string): string => {
    const value = document[name];
    // Some providers name what they lack all the same.
    if (value === undefined || value === null || value === '') return '';
    if (!isAddress(value) || !scheme.test(new URL(value).protocol))
      throw providerFailed(sentence('oidc.unusable', { name }));
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

const readTexts = (value: unknown): string[] | undefined =>
  Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : undefined;
