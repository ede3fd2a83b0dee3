import { isObject, type SecretBox, sanitizeMessage, sentence } from '../../kernel/index.ts';
import { AUTH_STYLE, type OAuthProviderRecord } from '../../store/ports/index.ts';
import type { CallProvider } from '../../upstream/index.ts';
import { authErrors } from '../errors.ts';
import { checkPolicy, describeRefusal, parsePolicy, readPath } from './access-policy.ts';
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
import {
  announcedAuthentication,
  authorizationUrl,
  type ClientAuthentication,
  exchangeCode,
  readProfile,
} from './oauth-requests.ts';

/** Every address of a provider that root entered. */
export const providerAddresses = (record: OAuthProviderRecord): string[] => [
  ...[record.wellKnown, record.authorizationEndpoint, record.tokenEndpoint, record.userInfoEndpoint],
];

/**
 * A provider that an administrator added: plain OAuth 2.0 with a user info endpoint that describes
 * the bearer of a token.
 */
export function customProvider(
  record: OAuthProviderRecord,
  { open, useMetadata, secretBox }: { open: OpenProvider; useMetadata: UseMetadata; secretBox: SecretBox },
): IdentityProvider {
  const { slug, name, clientId, scopes, wellKnown } = record;
  const configured = providerAddresses(record);

  async function identify(
    call: CallProvider,
    answer: CodeAnswer,
    metadata: ProviderMetadata | undefined,
  ): Promise<ExternalIdentity> {
    const policy = parsePolicy(record.accessPolicy);
    // Fail closed: rules that cannot be read admit nobody.
    if (!policy.ok) throw providerFailed(sentence('oauth.policy'), policy.error);
    if (metadata) checkIssuer(metadata, answer.iss);
    const endpoint = requireAddress(record.tokenEndpoint || metadata?.tokenEndpoint);
    const client = { clientId, clientSecret: openSecret(record, secretBox) };
    const { accessToken } = await exchangeCode(call, {
      endpoint,
      client,
      authentication: readAuthentication(record, metadata),
      answer,
    });
    const profile = await readProfile(call, {
      url: requireAddress(record.userInfoEndpoint || metadata?.userInfoEndpoint),
      accessToken,
    });
    const subject = readSubject(readPath(profile, record.userIdField));

    const verdict = checkPolicy(policy.value, profile);
    if (!verdict.admitted) {
      const facts = { provider: name, policy: policy.value, condition: verdict.condition, profile };
      const message = sanitizeMessage(describeRefusal(record.accessDeniedMessage, facts));
      throw authErrors.access_denied(message === '' ? {} : { message });
    }
    return {
      subject,
      username: readText(readPath(profile, record.usernameField)),
      displayName: readText(readPath(profile, record.displayNameField)),
      email: readVerifiedEmail(profile, record.emailField),
    };
  }

  return {
    slug,
    name,
    async authorizationUrl(request) {
      const urlAt = (endpoint: string) => authorizationUrl(requireAddress(endpoint), { clientId, scopes, request });
      if (record.authorizationEndpoint !== '') return urlAt(record.authorizationEndpoint);
      return useMetadata(wellKnown, open(configured), async (metadata) => urlAt(metadata.authorizationEndpoint));
    },
    identify(answer) {
      const call = open(configured);
      if (wellKnown === '') return identify(call, answer, undefined);
      return useMetadata(wellKnown, call, (metadata) => identify(call, answer, metadata));
    },
  };
}

/**
 * The email address, if the provider says under one of the usual names that it is verified. That
 * statement covers only the address beside it: the `email` of the same object, or `field` where
 * there is no `email`.
 */
function readVerifiedEmail(profile: Record<string, unknown>, field: string): string {
  const steps = field.split('.');
  const name = Object.hasOwn(profile, field) ? field : (steps.pop() ?? '');
  const holder = Object.hasOwn(profile, field) || steps.length === 0 ? profile : readPath(profile, steps.join('.'));
  if (!isObject(holder) || (name !== 'email' && Object.hasOwn(holder, 'email'))) return '';
  const verified = holder.email_verified === true || holder.verified_email === true;
  return verified ? readText(readPath(profile, field)) : '';
}

/**
 * Automatic: form fields, which nearly every provider accepts, unless this one says otherwise; then
 * Basic, where it lists both and refuses the first.
 */
export function readAuthentication(
  { authStyle }: OAuthProviderRecord,
  metadata: ProviderMetadata | undefined,
): ClientAuthentication[] {
  if (authStyle === AUTH_STYLE.basic) return ['basic'];
  const methods = metadata?.tokenAuthMethods;
  return authStyle === AUTH_STYLE.auto && methods ? announcedAuthentication(methods).reverse() : ['form'];
}

export function openSecret({ clientSecretSealed }: OAuthProviderRecord, secretBox: SecretBox): string {
  if (clientSecretSealed === '') return '';
  const secret = secretBox.open(clientSecretSealed);
  if (secret === undefined) throw providerFailed(sentence('oauth.secret'));
  return secret;
}

export function requireAddress(address: string | undefined): string {
  if (!address) throw providerFailed(sentence('oauth.no_address'));
  return address;
}
