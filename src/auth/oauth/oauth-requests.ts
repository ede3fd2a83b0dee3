import { isObject, parseJson } from '../../kernel/index.ts';
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
  if (!URL.canParse(endpoint)) throw providerFailed('The provider has no usable authorization endpoint.');
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

/**
 * Exchanges a code for an access token. The answer may be JSON or form-encoded.
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
  }: { endpoint: string; client: OAuthClient; authentication: ClientAuthentication; answer: CodeAnswer },
): Promise<string> {
  const fields = {
    grant_type: 'authorization_code',
    code: answer.code,
    redirect_uri: answer.redirectUri,
    code_verifier: answer.codeVerifier,
    ...(authentication === 'basic' ? {} : { client_id: client.clientId }),
    ...(authentication === 'basic' || client.clientSecret === '' ? {} : { client_secret: client.clientSecret }),
  };
  const response = await requestOrFail(call, 'exchange of the code', {
    url: endpoint,
    body: authentication === 'json' ? { json: fields } : { form: fields },
    ...(authentication === 'basic' ? { headers: { authorization: basic(client) } } : {}),
  });
  const token = readTokenAnswer(response);
  // GitHub refuses with 200 and an error.
  if (response.status !== 200 || token.error !== undefined)
    throw providerFailed(describeRefusal(response, token.error));
  const { access_token: accessToken, token_type: tokenType } = token;
  // Characters that a header allows (RFC 6750 2.1). We can only present bearer tokens.
  const usable = typeof accessToken === 'string' && /^[\x21-\x7e]{1,8000}$/.test(accessToken);
  const isBearer = tokenType === undefined || (typeof tokenType === 'string' && /^bearer$/i.test(tokenType));
  if (!usable || !isBearer) throw providerFailed('The provider answered the code without a usable access token.');
  return accessToken;
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
  if (answer.status !== 200) throw providerFailed(`The provider refused the profile with status ${answer.status}.`);
  const profile = parseJson(answer.text);
  if (!isObject(profile)) throw providerFailed('The profile that the provider sent is not a JSON object.');
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
  const reason = answer.error.kind === 'timeout' ? 'did not answer in time' : 'could not be asked';
  throw providerFailed(`The provider ${reason} (${what}).`, answer.error);
}

function readTokenAnswer({ contentType, text }: ProviderAnswer): Record<string, unknown> {
  const json = parseJson(text);
  if (isObject(json)) return json;
  return contentType === 'application/x-www-form-urlencoded' ? Object.fromEntries(new URLSearchParams(text)) : {};
}

/** Repeats the provider's error code only if it looks like one. */
function describeRefusal({ status }: ProviderAnswer, error: unknown): string {
  const code = typeof error === 'string' && /^[\w.-]{1,64}$/.test(error) ? error : `status ${status}`;
  return `The provider refused the code (${code}).`;
}

/** RFC 6749 2.3.1: both are form-encoded before they become a user name and a password. */
export function basic({ clientId, clientSecret }: OAuthClient): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
