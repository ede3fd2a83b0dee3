import type * as OpenIdClient from 'openid-client';
import { AppError } from '../../../kernel/index.ts';
import type { CallProvider } from '../../../upstream/index.ts';
import type { AuthSettings } from '../../config.ts';
import { checkIssuer, type ProviderMetadata, type UseMetadata } from '../discover.ts';
import {
  type CodeAnswer,
  type ExternalIdentity,
  type IdentityProvider,
  type OpenProvider,
  providerFailed,
  readSubject,
  readText,
} from '../identity-provider.ts';
import { authorizationUrl } from '../oauth-requests.ts';

export type OidcSettings = NonNullable<AuthSettings['providers']['oidc']>;
type OidcClient = { metadata: ProviderMetadata; settings: OidcSettings; call: CallProvider };

/**
 * Only asymmetric algorithms. `none` signs nothing, and HS… would accept the client's secret, or a
 * public key, as a signing key.
 */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** OpenID Connect Core 3.1.3.7: the default where the document names none. */
const DEFAULT_ALGORITHMS = ['RS256'];

/** The addresses that an administrator entered: their hosts may be private. */
export const configuredAddresses = (settings: OidcSettings): string[] => [
  settings.wellKnown,
  settings.authorizationEndpoint,
  settings.tokenEndpoint,
  settings.userInfoEndpoint,
];

/**
 * The document's metadata, with the endpoints that the administrator configured instead.
 *
 * @throws `auth.provider_failed` when an endpoint is missing.
 */
export function withOwnEndpoints(metadata: ProviderMetadata, settings: OidcSettings): ProviderMetadata {
  const merged = {
    ...metadata,
    authorizationEndpoint: settings.authorizationEndpoint || metadata.authorizationEndpoint,
    tokenEndpoint: settings.tokenEndpoint || metadata.tokenEndpoint,
    userInfoEndpoint: settings.userInfoEndpoint || metadata.userInfoEndpoint,
  };
  const { authorizationEndpoint, tokenEndpoint, jwksUri } = merged;
  const missing = Object.entries({ authorizationEndpoint, tokenEndpoint, jwksUri }).find(
    ([, address]) => address === '',
  );
  if (missing) throw providerFailed(`The discovery document of the provider lacks an address (${missing[0]}).`);
  return merged;
}

export function oidcProvider(settings: OidcSettings, open: OpenProvider, useMetadata: UseMetadata): IdentityProvider {
  const { wellKnown, clientId } = settings;
  const configured = configuredAddresses(settings);
  return {
    slug: 'oidc',
    name: settings.displayName,
    authorizationUrl: (request) =>
      useMetadata(wellKnown, open(configured), async (document) => {
        const { authorizationEndpoint } = withOwnEndpoints(document, settings);
        const extra = { nonce: request.nonce };
        return authorizationUrl(authorizationEndpoint, { clientId, scopes: 'openid profile email', request, extra });
      }),
    identify(answer) {
      const call = open(configured);
      return useMetadata(wellKnown, call, async (document) => {
        const metadata = withOwnEndpoints(document, settings);
        checkIssuer(metadata, answer.iss);
        return exchangeAndVerify({ metadata, settings, call }, answer);
      });
    },
  };
}

/**
 * Verifies the ID token in full: issuer, audience, authorized party, times, nonce and signature.
 * The keys are fetched for each sign-in, so that a rotated key is known at once.
 */
async function exchangeAndVerify(client: OidcClient, answer: CodeAnswer): Promise<ExternalIdentity> {
  const { metadata } = client;
  const openId = await import('openid-client');
  const config = configure(openId, client);
  try {
    const tokens = await openId.authorizationCodeGrant(config, returnUrl(answer), {
      expectedState: answer.state,
      expectedNonce: answer.nonce,
      pkceCodeVerifier: answer.codeVerifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (!claims) throw providerFailed('The provider sent no ID token.');
    const userInfo = metadata.userInfoEndpoint
      ? await openId.fetchUserInfo(config, tokens.access_token, claims.sub)
      : undefined;
    const profile: Record<string, unknown> = { ...claims, ...userInfo };
    return {
      subject: readSubject(claims.sub),
      username: readText(profile.preferred_username),
      displayName: readText(profile.name),
      email: readEmail(userInfo) || readEmail(claims),
    };
  } catch (error) {
    throw error instanceof AppError ? error : describeFailure(error);
  }
}

/**
 * The address of one source, if that same source says that it is verified. Some providers write
 * booleans as texts.
 */
function readEmail({ email, email_verified: verified }: Record<string, unknown> = {}): string {
  return verified === true || verified === 'true' ? readText(email) : '';
}

function configure(openId: typeof OpenIdClient, { metadata, settings, call }: OidcClient) {
  const { clientId, clientSecret } = settings;
  const methods = metadata.tokenAuthMethods ?? ['client_secret_basic'];
  const authenticate = methods.includes('client_secret_basic') ? openId.ClientSecretBasic : openId.ClientSecretPost;
  const announced = metadata.signingAlgorithms ?? DEFAULT_ALGORITHMS;
  const config = new openId.Configuration(
    {
      issuer: metadata.issuer,
      authorization_endpoint: metadata.authorizationEndpoint,
      token_endpoint: metadata.tokenEndpoint,
      jwks_uri: metadata.jwksUri,
      ...(metadata.userInfoEndpoint ? { userinfo_endpoint: metadata.userInfoEndpoint } : {}),
      id_token_signing_alg_values_supported: announced.filter((algorithm) => ALGORITHMS.includes(algorithm)),
      authorization_response_iss_parameter_supported: metadata.sendsIssuer,
    },
    clientId,
    {},
    authenticate(clientSecret),
  );
  openId.enableNonRepudiationChecks(config);
  // Endpoints without TLS exist only if an administrator configured one: see `discover`.
  openId.allowInsecureRequests(config);
  config[openId.customFetch] = (url, options) => fetchWith(call, url, options);
  return config;
}

/** The library's `fetch`, over our own outbound HTTP. */
async function fetchWith(call: CallProvider, url: string, options: OpenIdClient.CustomFetchOptions): Promise<Response> {
  const { body } = options;
  const text = body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : undefined;
  const answer = await call({
    url,
    headers: Object.fromEntries(new Headers(options.headers)),
    ...(text === undefined ? {} : { body: { text } }),
  });
  if (!answer.ok) {
    const reason = answer.error.kind === 'timeout' ? 'did not answer in time' : 'could not be asked';
    throw providerFailed(`The provider ${reason}.`, answer.error);
  }
  const { status, contentType } = answer.value;
  if (status < 200 || status === 204 || status === 304 || status > 599) {
    throw providerFailed(`The provider answered with status ${status}.`);
  }
  return new Response(answer.value.text, { status, headers: { 'content-type': contentType } });
}

function returnUrl({ redirectUri, code, state, iss }: CodeAnswer): URL {
  const url = new URL(redirectUri);
  url.search = new URLSearchParams({ code, state, ...(iss === undefined ? {} : { iss }) }).toString();
  return url;
}

/** The library's error goes to the log; callers only get which part was wrong. */
function describeFailure(error: unknown): AppError {
  const { error: code, code: kind } = (error ?? {}) as { error?: unknown; code?: unknown };
  if (typeof code === 'string' && /^[\w.-]{1,64}$/.test(code)) {
    return providerFailed(`The provider refused the code (${code}).`, error);
  }
  const part = typeof kind === 'string' && /JWT|KEY|INVALID_RESPONSE/.test(kind) ? 'ID token or profile' : 'answer';
  return providerFailed(`The ${part} of the provider could not be verified.`, error);
}
