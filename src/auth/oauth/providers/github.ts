import { isObject, parseJson } from '../../../kernel/index.ts';
import type { CallProvider } from '../../../upstream/index.ts';
import type { AuthSettings } from '../../config.ts';
import { type IdentityProvider, type OpenProvider, readSubject, readText } from '../identity-provider.ts';
import { authorizationUrl, exchangeCode, readProfile } from '../oauth-requests.ts';

/** GitHub's own form of JSON; it wants to know by whom it is asked. */
const HEADERS = { accept: 'application/vnd.github+json' };

export function githubProvider(
  settings: NonNullable<AuthSettings['providers']['github']>,
  open: OpenProvider,
): IdentityProvider {
  const { baseUrl, apiUrl, clientId } = settings;
  return {
    slug: 'github',
    name: 'GitHub',
    authorizationUrl: async (request) =>
      authorizationUrl(`${baseUrl}/login/oauth/authorize`, { clientId, scopes: 'user:email', request }),
    async identify(answer) {
      const ask = open([baseUrl, apiUrl]);
      const endpoint = `${baseUrl}/login/oauth/access_token`;
      const token = await exchangeCode(ask, { endpoint, client: settings, proof: 'json', answer });
      const profile = await readProfile(ask, `${apiUrl}/user`, token, HEADERS);
      return {
        // Login names are given to others after a while, ids never.
        subject: readSubject(typeof profile.id === 'number' ? profile.id : undefined),
        username: readText(profile.login),
        displayName: readText(profile.name),
        email: await findAddress(ask, `${apiUrl}/user/emails`, token),
      };
    },
  };
}

/**
 * The verified primary address. An account without one, or that does not show it, signs in as well.
 */
async function findAddress(ask: CallProvider, url: string, token: string): Promise<string> {
  const answer = await ask({ url, headers: { ...HEADERS, authorization: `Bearer ${token}` } });
  const addresses = answer.ok && answer.value.status === 200 ? parseJson(answer.value.text) : undefined;
  if (!Array.isArray(addresses)) return '';
  const primary = addresses.find((entry) => isObject(entry) && entry.primary === true && entry.verified === true);
  return isObject(primary) ? readText(primary.email) : '';
}
