import { isObject, parseJson, type Sentence, sentence } from '../../kernel/index.ts';
import type { CallProvider, ProviderAnswer, ProviderRequest } from '../../upstream/index.ts';
import { type CodeAnswer, type CodeRequest, providerFailed } from './identity-provider.ts';

export type OAuthClient = { clientId: string; clientSecret: string };

/**
 * How the client authenticates at the token endpoint: by form fields, by JSON fields, or by Basic
 * authentication.
 */
export type ClientAuthentication = 'form' | 'json' | 'basic';

/** The authorization URL of the code flow with PKCE. `extra` are provider-specific parameters. */
export function authorizationUrl(
  endpoint: string,
  { clientId, scopes, request, extra = {} }: AuthorizationRequest,
): string {
  if (!URL.canParse(endpoint)) throw providerFailed(sentence('oauth.no_endpoint'));
  const url = new URL(endpoint);
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: request.redirectUri,
    scope: scopes,
    state: request.state,
    code_challenge: request.codeChallenge,
    code_challenge_method: 'S256',
    ...extra,
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== '') url.searchParams.set(name, value);
  return url.href;
}
type AuthorizationRequest = {
  clientId: string;
  scopes: string;
  request: CodeRequest;
  extra?: Record<string, string>;
};

/** What a code was exchanged for. The ID token is as it came: not verified, perhaps none. */
type IssuedTokens = { accessToken: string; idToken: unknown };

/**
 * Exchanges a code for an access token. The answer may be JSON or form-encoded; what is not used of
 * it may be anything. `authentication` are the ways in which the client may prove itself: the next
 * one is taken where the provider refuses the client, since it does so before it uses up the code.
 *
 * @throws `auth.provider_failed`
 */
export async function exchangeCode(
  call: CallProvider,
  {
    endpoint,
    client,
    authentication,
    answer,
  }: { endpoint: string; client: OAuthClient; authentication: readonly ClientAuthentication[]; answer: CodeAnswer },
): Promise<IssuedTokens> {
  const fields = {
    grant_type: 'authorization_code',
    code: answer.code,
    redirect_uri: answer.redirectUri,
    code_verifier: answer.codeVerifier,
  };
  const response = await requestAsClient(call, { endpoint, client, authentication, fields });
  const token = readTokenAnswer(response);
  // GitHub refuses with 200 and an error.
  if (response.status !== 200 || !isAbsent(token.error)) throw providerFailed(describeRefusal(response, token.error));
  const { access_token: accessToken, token_type: tokenType, id_token: idToken } = token;
  // Characters that a header allows (RFC 6750 2.1). We can only present bearer tokens.
  const usable = typeof accessToken === 'string' && /^[\x21-\x7e]{1,8000}$/.test(accessToken);
  const isBearer = isAbsent(tokenType) || (typeof tokenType === 'string' && /^bearer$/i.test(tokenType));
  if (!usable || !isBearer) throw providerFailed(sentence('oauth.token'));
  return { accessToken, idToken: isAbsent(idToken) ? undefined : idToken };
}

/** Some providers send every field, empty or null. */
const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

/** A request to a token endpoint, in the first of these ways in which it accepts the client. */
export async function requestAsClient(
  call: CallProvider,
  {
    endpoint,
    client,
    authentication,
    fields,
  }: {
    endpoint: string;
    client: OAuthClient;
    authentication: readonly ClientAuthentication[];
    fields: Record<string, string>;
  },
): Promise<ProviderAnswer> {
  const [way = 'form', ...others] = authentication;
  const { clientId, clientSecret } = client;
  const all =
    way === 'basic'
      ? fields
      : { ...fields, client_id: clientId, ...(clientSecret === '' ? {} : { client_secret: clientSecret }) };
  const response = await requestOrFail(call, 'exchange of the code', {
    url: endpoint,
    body: way === 'json' ? { json: all } : { form: all },
    ...(way === 'basic' ? { headers: { authorization: basic(client) } } : {}),
  });
  const refusesClient = response.status === 401 || readTokenAnswer(response).error === 'invalid_client';
  return refusesClient && others.length > 0
    ? requestAsClient(call, { endpoint, client, authentication: others, fields })
    : response;
}

/**
 * How a client may prove itself by a discovery document, in the order to try. OpenID Connect
 * Discovery 3: Basic where the document says nothing.
 */
export function announcedAuthentication(methods: readonly string[] | undefined): ClientAuthentication[] {
  if (methods === undefined) return ['basic'];
  const ways: ClientAuthentication[] = [];
  if (methods.includes('client_secret_basic')) ways.push('basic');
  if (methods.includes('client_secret_post') || ways.length === 0) ways.push('form');
  return ways;
}

/**
 * The profile that a provider gives the bearer of an access token.
 *
 * @throws `auth.provider_failed`
 */
export async function readProfile(
  call: CallProvider,
  { url, accessToken, headers = {} }: { url: string; accessToken: string; headers?: Record<string, string> },
): Promise<Record<string, unknown>> {
  const answer = await requestOrFail(call, 'profile', {
    url,
    headers: { ...headers, authorization: `Bearer ${accessToken}` },
  });
  if (answer.status !== 200) throw providerFailed(sentence('oauth.profile', { status: answer.status }));
  const profile = parseJson(answer.text);
  if (!isObject(profile)) throw providerFailed(sentence('oauth.profile_form'));
  return profile;
}

/**
 * `what` names the request in the error.
 *
 * @throws `auth.provider_failed` when no complete answer came.
 */
export async function requestOrFail(
  call: CallProvider,
  what: string,
  request: ProviderRequest,
): Promise<ProviderAnswer> {
  const answer = await call(request);
  if (answer.ok) return answer.value;
  const reason = answer.error.kind === 'timeout' ? 'oauth.late_step' : 'oauth.away_step';
  throw providerFailed(sentence(reason, { step: what }), answer.error);
}

function readTokenAnswer({ contentType, text }: ProviderAnswer): Record<string, unknown> {
  const json = parseJson(text);
  if (isObject(json)) return json;
  return contentType === 'application/x-www-form-urlencoded' ? Object.fromEntries(new URLSearchParams(text)) : {};
}

/** Repeats the provider's error code only if it looks like one. */
function describeRefusal({ status }: ProviderAnswer, error: unknown): Sentence {
  const code = typeof error === 'string' && /^[\w.-]{1,64}$/.test(error) ? error : `status ${status}`;
  return sentence('oauth.code', { code });
}

/** RFC 6749 2.3.1: both are form-encoded before they become a username and a password. */
function basic({ clientId, clientSecret }: OAuthClient): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
