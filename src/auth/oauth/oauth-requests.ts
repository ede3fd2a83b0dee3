import { isObject, parseJson } from '../../kernel/index.ts';
import type { CallProvider, ProviderAnswer, ProviderRequest } from '../../upstream/index.ts';
import { type CodeAnswer, type CodeRequest, providerFailed } from './identity-provider.ts';

export type OAuthClient = { clientId: string; clientSecret: string };

/**
 * How the client proves itself at the token endpoint: fields of a form, fields of a JSON object, or
 * Basic authentication.
 */
export type ClientProof = 'form' | 'json' | 'basic';

/**
 * The authorization request of the code flow with PKCE. `extra` are the provider's own parameters.
 */
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
 * Swaps a code for an access token. The answer may be JSON or a form. Rejects with
 * `auth.provider_failed`.
 */
export async function exchangeCode(
  ask: CallProvider,
  {
    endpoint,
    client,
    proof,
    answer,
  }: { endpoint: string; client: OAuthClient; proof: ClientProof; answer: CodeAnswer },
): Promise<string> {
  const fields = {
    grant_type: 'authorization_code',
    code: answer.code,
    redirect_uri: answer.redirectUri,
    code_verifier: answer.codeVerifier,
    ...(proof === 'basic' ? {} : { client_id: client.clientId }),
    ...(proof === 'basic' || client.clientSecret === '' ? {} : { client_secret: client.clientSecret }),
  };
  const answered = await requestOrFail(ask, 'exchange of the code', {
    url: endpoint,
    body: proof === 'json' ? { json: fields } : { form: fields },
    ...(proof === 'basic' ? { headers: { authorization: basic(client) } } : {}),
  });
  const token = readTokenAnswer(answered);
  // GitHub refuses with 200 and an error.
  if (answered.status !== 200 || token.error !== undefined)
    throw providerFailed(describeRefusal(answered, token.error));
  const { access_token: accessToken, token_type: tokenType } = token;
  // What a header takes (RFC 6750 2.1); a token of another type is not for us to present.
  const usable = typeof accessToken === 'string' && /^[\x21-\x7e]{1,8000}$/.test(accessToken);
  const isBearer = tokenType === undefined || (typeof tokenType === 'string' && /^bearer$/i.test(tokenType));
  if (!usable || !isBearer) throw providerFailed('The provider answered the code without a usable access token.');
  return accessToken;
}

/**
 * The JSON object that a provider tells the bearer of a token. Rejects with `auth.provider_failed`.
 */
export async function readProfile(
  ask: CallProvider,
  url: string,
  accessToken: string,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const answer = await requestOrFail(ask, 'profile', {
    url,
    headers: { ...headers, authorization: `Bearer ${accessToken}` },
  });
  if (answer.status !== 200) throw providerFailed(`The provider refused the profile with status ${answer.status}.`);
  const profile = parseJson(answer.text);
  if (!isObject(profile)) throw providerFailed('The profile that the provider sent is no JSON object.');
  return profile;
}

/** Rejects with `auth.provider_failed` when no complete answer came; `what` was asked for. */
export async function requestOrFail(
  ask: CallProvider,
  what: string,
  request: ProviderRequest,
): Promise<ProviderAnswer> {
  const answer = await ask(request);
  if (answer.ok) return answer.value;
  const reason = answer.error.kind === 'timeout' ? 'did not answer in time' : 'could not be asked';
  throw providerFailed(`The provider ${reason} (${what}).`, answer.error);
}

function readTokenAnswer({ contentType, text }: ProviderAnswer): Record<string, unknown> {
  const json = parseJson(text);
  if (isObject(json)) return json;
  return contentType === 'application/x-www-form-urlencoded' ? Object.fromEntries(new URLSearchParams(text)) : {};
}

/** Error codes are words; anything else a provider puts there is not repeated. */
function describeRefusal({ status }: ProviderAnswer, error: unknown): string {
  const code = typeof error === 'string' && /^[\w.-]{1,64}$/.test(error) ? error : `status ${status}`;
  return `The provider refused the code (${code}).`;
}

/** RFC 6749 2.3.1: both are form-encoded before they become a user name and a password. */
export function basic({ clientId, clientSecret }: OAuthClient): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
