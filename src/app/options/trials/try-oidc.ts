import type { OptionTestResult } from '../../../http/index.ts';
import { isObject, parseJson, randomToken } from '../../../kernel/index.ts';
import type { AskProvider } from '../../../upstream/index.ts';
import { recordSteps } from './record-steps.ts';

export type OidcTrial = {
  clientId: string;
  clientSecret: string;
  wellKnown: string;
  /** Empty: as the discovery document says. */
  authorizationEndpoint: string;
  tokenEndpoint: string;
  redirectUri: string;
};

const WELL_KNOWN = '/.well-known/openid-configuration';

/** Reads what the provider says of itself, fetches its keys, and asks for tokens for a code that it never gave. */
export async function tryOidc(ask: AskProvider, settings: OidcTrial): Promise<OptionTestResult> {
  const steps = recordSteps();

  const found = await ask({ url: settings.wellKnown });
  if (!found.ok) return steps.fail('discovery', found.error.message);
  const about = found.value.status === 200 ? parseJson(found.value.text) : undefined;
  if (!isObject(about)) {
    return steps.fail('discovery', `oidc.well_known answered ${found.value.status} and no discovery document.`);
  }
  steps.pass('discovery', 'The discovery document was read.');

  const issuer = typeof about.issuer === 'string' ? about.issuer : '';
  if (settings.wellKnown !== `${issuer.replace(/\/$/, '')}${WELL_KNOWN}`) {
    return steps.fail(
      'issuer',
      `The discovery document is that of another issuer: oidc.well_known must be the issuer and ${WELL_KNOWN}.`,
    );
  }
  steps.pass('issuer', `The issuer is ${issuer}.`);

  const authorization = settings.authorizationEndpoint || about.authorization_endpoint;
  const token = settings.tokenEndpoint || about.token_endpoint;
  if (!isAddress(authorization) || !isAddress(token)) {
    return steps.fail('endpoints', 'The discovery document names no authorization or token endpoint.');
  }
  steps.pass('endpoints', 'Authorization and token endpoint are known.');

  const keys = isAddress(about.jwks_uri) ? await ask({ url: about.jwks_uri }) : undefined;
  if (!keys) return steps.fail('keys', 'The discovery document does not say where the keys are.');
  if (!keys.ok) return steps.fail('keys', keys.error.message);
  const set = keys.value.status === 200 ? parseJson(keys.value.text) : undefined;
  const count =
    isObject(set) && Array.isArray(set.keys) ? set.keys.filter((key) => isObject(key) && key.use !== 'enc').length : 0;
  if (count === 0)
    return steps.fail('keys', `No keys for signatures were found; the provider answered ${keys.value.status}.`);
  steps.pass('keys', `Keys for signatures: ${count}.`);

  return tryClient(ask, settings, token, about, steps);
}

/** A wrong code is refused after the client has been recognised, and with another code of error. */
async function tryClient(
  ask: AskProvider,
  settings: OidcTrial,
  url: string,
  about: Record<string, unknown>,
  steps: ReturnType<typeof recordSteps>,
): Promise<OptionTestResult> {
  const form = {
    grant_type: 'authorization_code',
    code: randomToken(16),
    code_verifier: randomToken(43),
    redirect_uri: settings.redirectUri,
  };
  const client = { client_id: settings.clientId, client_secret: settings.clientSecret };
  const methods = about.token_endpoint_auth_methods_supported;
  const inBody =
    Array.isArray(methods) && !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
  const answer = await ask(
    inBody
      ? { url, body: { form: { ...form, ...client } } }
      : { url, headers: { authorization: basic(client.client_id, client.client_secret) }, body: { form } },
  );
  if (!answer.ok) return steps.fail('client', answer.error.message);
  const refusal = parseJson(answer.value.text);
  const code = isObject(refusal) && typeof refusal.error === 'string' ? refusal.error : '';
  if (code === 'invalid_client' || code === 'unauthorized_client' || answer.value.status === 401) {
    return steps.fail('client', 'The provider does not take oidc.client_id and oidc.client_secret.');
  }
  if (code !== 'invalid_grant') {
    const said = /^[a-z_]{1,40}$/.test(code) ? `, ${code}` : '';
    return steps.fail('client', `The token endpoint answered in an unexpected way (${answer.value.status}${said}).`);
  }
  steps.pass('client', 'The provider takes oidc.client_id and oidc.client_secret.');
  return steps.end();
}

const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value);

/** RFC 6749 2.3.1: both parts are encoded as in a form first. */
const basic = (id: string, secret: string): string => {
  const encode = (text: string) => new URLSearchParams({ v: text }).toString().slice(2);
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`;
};
