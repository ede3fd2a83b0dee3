import type * as Jose from 'jose';
import type { JWK, JWTPayload, JWTVerifyGetKey } from 'jose';
import type * as OpenIdClient from 'openid-client';
import { AppError, isObject, parseJson, sentence } from '../../kernel/index.ts';
import type { CallProvider } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { checkIssuer } from './check-issuer.ts';
import type { ProviderMetadata, UseMetadata } from './discover.ts';
import {
  type CodeAnswer,
  type ExternalIdentity,
  type IdentityProvider,
  type OpenProvider,
  providerFailed,
  readSubject,
  readText,
} from './identity-provider.ts';
import { announcedAuthentication, authorizationUrl, exchangeCode, requestOrFail } from './oauth-requests.ts';

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

/** How far the clocks of the provider and of this machine may differ. */
const CLOCK_TOLERANCE_SECONDS = 30;
/** Keys of a provider that are looked at; they have two to ten. */
const MAX_KEYS = 100;

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
  if (missing) throw providerFailed(sentence('oidc.lacks', { name: missing[0] }));
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
 * The profile of the person whom the ID token names. The keys are fetched for each sign-in, so that
 * a rotated key is known at once.
 */
async function exchangeAndVerify(client: OidcClient, answer: CodeAnswer): Promise<ExternalIdentity> {
  const { metadata, settings, call } = client;
  const { accessToken, idToken } = await exchangeCode(call, {
    endpoint: metadata.tokenEndpoint,
    client: settings,
    authentication: announcedAuthentication(metadata.tokenAuthMethods),
    answer,
  });
  if (typeof idToken !== 'string') throw providerFailed(sentence('oauth.no_token'));
  try {
    const claims = await verifyIdToken(client, { idToken, nonce: answer.nonce });
    const openId = await import('openid-client');
    const userInfo = metadata.userInfoEndpoint
      ? await openId.fetchUserInfo(configure(openId, client), accessToken, String(claims.sub))
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
 * Verifies an ID token in full (OpenID Connect Core 3.1.3.7): signature, issuer, audience,
 * authorized party, times and nonce. Claims that nothing here depends on may be anything.
 *
 * @throws what the library throws, or `auth.provider_failed`
 */
async function verifyIdToken(
  { metadata, settings, call }: OidcClient,
  { idToken, nonce }: { idToken: string; nonce: string },
): Promise<JWTPayload> {
  const jose = await import('jose');
  const algorithms = (metadata.signingAlgorithms ?? DEFAULT_ALGORITHMS).filter((each) => ALGORITHMS.includes(each));
  const signed = await jose.compactVerify(idToken, await readKeys(jose, call, metadata.jwksUri), { algorithms });
  const claims = parseJson(new TextDecoder().decode(signed.payload));
  if (!isObject(claims)) throw providerFailed(sentence('oauth.unverified_token'));
  // A claim that is null counts as absent. The library checks claims within a token only.
  const present = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null));
  const { payload } = jose.UnsecuredJWT.decode(new jose.UnsecuredJWT(present as JWTPayload).encode(), {
    ...{ issuer: metadata.issuer, audience: settings.clientId },
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    requiredClaims: ['sub', 'aud', 'exp', 'iat'],
  });
  const { azp, aud } = payload;
  const isParty = azp === undefined ? !Array.isArray(aud) || aud.length === 1 : azp === settings.clientId;
  if (!isParty || payload.nonce !== nonce || typeof payload.iat !== 'number') {
    throw providerFailed(sentence('oauth.unverified_token'));
  }
  return payload;
}

async function readKeys(jose: typeof Jose, call: CallProvider, url: string): Promise<JWTVerifyGetKey> {
  const answer = await requestOrFail(call, 'keys', { url });
  const set = answer.status === 200 ? parseJson(answer.text) : undefined;
  const keys = isObject(set) && Array.isArray(set.keys) ? set.keys.filter(isObject).slice(0, MAX_KEYS) : [];
  return jose.createLocalJWKSet({ keys: keys as unknown as JWK[] });
}

/**
 * The address of one source, if that same source says that it is verified. Some providers write
 * booleans as texts.
 */
function readEmail({ email, email_verified: verified }: Record<string, unknown> = {}): string {
  return verified === true || verified === 'true' ? readText(email) : '';
}

/** The client's configuration for reading the profile, which may be signed as well. */
function configure(openId: typeof OpenIdClient, { metadata, settings, call }: OidcClient) {
  const config = new openId.Configuration(
    { issuer: metadata.issuer, jwks_uri: metadata.jwksUri, userinfo_endpoint: metadata.userInfoEndpoint },
    settings.clientId,
  );
  openId.enableNonRepudiationChecks(config);
  // Endpoints without TLS exist only if an administrator configured one: see `discover`.
  openId.allowInsecureRequests(config);
  config[openId.customFetch] = (url, options) => fetchWith(call, url, options);
  return config;
}

/** The library's `fetch`, over our own outbound HTTP. */
async function fetchWith(call: CallProvider, url: string, options: OpenIdClient.CustomFetchOptions): Promise<Response> {
  const answer = await call({ url, headers: Object.fromEntries(new Headers(options.headers)) });
  if (!answer.ok) {
    throw providerFailed(sentence(answer.error.kind === 'timeout' ? 'oauth.late' : 'oauth.away'), answer.error);
  }
  const { status, contentType } = answer.value;
  if (status < 200 || status === 204 || status === 304 || status > 599) {
    throw providerFailed(sentence('oauth.status', { status }));
  }
  return new Response(answer.value.text, { status, headers: { 'content-type': contentType } });
}

/** The library's error goes to the log. */
const describeFailure = (error: unknown): AppError => providerFailed(sentence('oauth.unverified_token'), error);
