import { AppError, isObject, parseJson, randomToken, type Sentence, sentence, toSentence } from '../../kernel/index.ts';
import { type CallProvider, openProvider, type ProviderAnswer, type Upstream } from '../../upstream/index.ts';
import { discover, type ProviderMetadata } from './discover.ts';
import {
  announcedAuthentication,
  type ClientAuthentication,
  type OAuthClient,
  requestAsClient,
} from './oauth-requests.ts';
import { configuredAddresses, type OidcSettings, withOwnEndpoints } from './oidc-provider.ts';

/** The steps in order; only the last one can have failed. Their sentences contain no secret. */
export type OidcStep = Sentence & { name: 'discovery' | 'keys' | 'client'; ok: boolean };

/**
 * Tests the settings of an OpenID Connect provider: reads its discovery document, fetches its keys,
 * and tries to redeem a made-up code.
 */
export async function tryOidc(upstream: Upstream, settings: OidcSettings, redirectUri: string): Promise<OidcStep[]> {
  const call = openProvider(upstream, configuredAddresses(settings));
  const found = await readMetadata(call, settings);
  if ('ok' in found) return [found];
  const discovery: OidcStep = {
    name: 'discovery',
    ok: true,
    ...sentence('oidc.read', { issuer: found.issuer }),
  };
  const keys = await tryKeys(call, found);
  if (!keys.ok) return [discovery, keys];
  const { tokenEndpoint: endpoint, tokenAuthMethods } = found;
  // As at a sign-in.
  const authentication = announcedAuthentication(tokenAuthMethods);
  return [discovery, keys, await tryClient(call, settings, { endpoint, authentication, redirectUri })];
}

async function readMetadata(call: CallProvider, settings: OidcSettings): Promise<ProviderMetadata | OidcStep> {
  try {
    return withOwnEndpoints(await discover(settings.wellKnown, call), settings);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { name: 'discovery', ok: false, ...toSentence(error) };
  }
}

async function tryKeys(call: CallProvider, { jwksUri }: ProviderMetadata): Promise<OidcStep> {
  const fail = (said: Sentence): OidcStep => ({ name: 'keys', ok: false, ...toSentence(said) });
  const answer = await call({ url: jwksUri });
  if (!answer.ok) return fail(answer.error);
  const set = answer.value.status === 200 ? parseJson(answer.value.text) : undefined;
  const listed = isObject(set) && Array.isArray(set.keys) ? set.keys : [];
  const count = listed.filter((key) => isObject(key) && key.use !== 'enc').length;
  if (count === 0) return fail(sentence('oidc.no_keys', { status: answer.value.status }));
  return { name: 'keys', ok: true, ...sentence('oidc.keys', { number: count }) };
}

/** That of RFC 6749, and GitHub's. */
const CODE_REFUSED: ReadonlySet<string> = new Set(['invalid_grant', 'bad_verification_code']);

/**
 * A provider authenticates the client before it checks the code, and a wrong code has its own error
 * (RFC 6749 5.2). So `invalid_grant` means that the client was accepted.
 */
export async function tryClient(
  call: CallProvider,
  { clientId, clientSecret }: OAuthClient,
  {
    endpoint,
    authentication,
    redirectUri,
  }: { endpoint: string; authentication: readonly ClientAuthentication[]; redirectUri: string },
): Promise<OidcStep> {
  const fail = (said: Sentence): OidcStep => ({ name: 'client', ok: false, ...toSentence(said) });
  const form = {
    grant_type: 'authorization_code',
    code: randomToken(16),
    code_verifier: randomToken(43),
    redirect_uri: redirectUri,
  };
  let answer: ProviderAnswer;
  try {
    const client = { clientId, clientSecret };
    answer = await requestAsClient(call, { endpoint, client, authentication, fields: form });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return fail(error);
  }
  const { status, text } = answer;
  const refusal = parseJson(text);
  const code = isObject(refusal) && typeof refusal.error === 'string' ? refusal.error : '';
  if (code === 'invalid_client' || code === 'unauthorized_client' || status === 401) {
    return fail(sentence('oidc.client_refused'));
  }
  if (!CODE_REFUSED.has(code)) {
    const reported = /^[a-z_]{1,40}$/.test(code) ? `, ${code}` : '';
    return fail(sentence('oidc.token', { words: `${status}${reported}` }));
  }
  return { name: 'client', ok: true, ...sentence('oidc.client') };
}
