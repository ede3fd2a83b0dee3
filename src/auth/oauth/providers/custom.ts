import { isObject, type SecretBox, sanitizeMessage } from '../../../kernel/index.ts';
import type { OAuthProviderRecord } from '../../../store/ports/index.ts';
import type { CallProvider } from '../../../upstream/index.ts';
import { authErrors } from '../../errors.ts';
import { describeRefusal, judge, parsePolicy } from '../access-policy.ts';
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
import { authorizationUrl, type ClientProof, exchangeCode, readProfile } from '../oauth-requests.ts';
import { readPath } from '../read-path.ts';

/**
 * A provider that an administrator added: plain OAuth 2.0 with an endpoint that tells who the
 * bearer of a token is.
 */
export function customProvider(
  record: OAuthProviderRecord,
  { open, useMetadata, secretBox }: { open: OpenProvider; useMetadata: UseMetadata; secretBox: SecretBox },
): IdentityProvider {
  const { slug, name, clientId, scopes, wellKnown } = record;
  const configured = [wellKnown, record.authorizationEndpoint, record.tokenEndpoint, record.userInfoEndpoint];

  async function identify(
    ask: CallProvider,
    answer: CodeAnswer,
    metadata: ProviderMetadata | undefined,
  ): Promise<ExternalIdentity> {
    const policy = parsePolicy(record.accessPolicy);
    // Nobody is let in by rules that cannot be read.
    if (!policy.ok) throw providerFailed('The access policy of this provider cannot be read.', policy.error);
    if (metadata) checkIssuer(metadata, answer.iss);
    const endpoint = requireAddress(record.tokenEndpoint || metadata?.tokenEndpoint);
    const client = { clientId, clientSecret: openSecret(record, secretBox) };
    const token = await exchangeCode(ask, { endpoint, client, proof: proofOf(record, metadata), answer });
    const profile = await readProfile(
      ask,
      requireAddress(record.userInfoEndpoint || metadata?.userInfoEndpoint),
      token,
    );
    const subject = readSubject(readPath(profile, record.userIdField));

    const verdict = judge(policy.value, profile);
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
      const ask = open(configured);
      if (wellKnown === '') return identify(ask, answer, undefined);
      return useMetadata(wellKnown, ask, (metadata) => identify(ask, answer, metadata));
    },
  };
}

/**
 * An address is a claim of its own: the provider must say that it has seen it work, under the name
 * that everyone gives it. That vouches for the address beside it alone: the `email` of the same
 * object, or the given field where there is none.
 */
function readVerifiedEmail(profile: Record<string, unknown>, field: string): string {
  const steps = field.split('.');
  const name = Object.hasOwn(profile, field) ? field : (steps.pop() ?? '');
  const holder = Object.hasOwn(profile, field) || steps.length === 0 ? profile : readPath(profile, steps.join('.'));
  if (!isObject(holder) || (name !== 'email' && Object.hasOwn(holder, 'email'))) return '';
  const verified = holder.email_verified === true || holder.verified_email === true;
  return verified ? readText(readPath(profile, field)) : '';
}

function proofOf({ authStyle }: OAuthProviderRecord, metadata: ProviderMetadata | undefined): ClientProof {
  if (authStyle === 2) return 'basic';
  const methods = metadata?.tokenAuthMethods;
  // Left to us: fields of the form, which nearly everyone takes, unless the provider says that it
  // does not.
  return authStyle === 0 &&
    methods &&
    !methods.includes('client_secret_post') &&
    methods.includes('client_secret_basic')
    ? 'basic'
    : 'form';
}

function openSecret({ clientSecretSealed }: OAuthProviderRecord, secretBox: SecretBox): string {
  if (clientSecretSealed === '') return '';
  const secret = secretBox.open(clientSecretSealed);
  if (secret === undefined) throw providerFailed('The secret of this provider cannot be read: enter it again.');
  return secret;
}

function requireAddress(address: string | undefined): string {
  if (!address) throw providerFailed('The provider is set up without a needed address.');
  return address;
}
