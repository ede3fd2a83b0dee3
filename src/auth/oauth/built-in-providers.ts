import { isObject, parseJson, sentence } from '../../kernel/index.ts';
import type { CallProvider } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { type IdentityProvider, type OpenProvider, readSubject, readText } from './identity-provider.ts';
import { authorizationUrl, exchangeCode, readProfile } from './oauth-requests.ts';

/** GitHub's media type for its REST API. */
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
      const call = open([baseUrl, apiUrl]);
      const endpoint = `${baseUrl}/login/oauth/access_token`;
      const { accessToken } = await exchangeCode(call, {
        endpoint,
        client: settings,
        authentication: ['json'],
        answer,
      });
      const profile = await readProfile(call, { url: `${apiUrl}/user`, accessToken, headers: HEADERS });
      return {
        // GitHub reassigns login names after a while, ids never.
        subject: readSubject(typeof profile.id === 'number' ? profile.id : undefined),
        username: readText(profile.login),
        displayName: readText(profile.name),
        email: await findAddress(call, `${apiUrl}/user/emails`, accessToken),
      };
    },
  };
}

/** The verified primary address; empty if the account has or shows none. */
async function findAddress(call: CallProvider, url: string, token: string): Promise<string> {
  const answer = await call({ url, headers: { ...HEADERS, authorization: `Bearer ${token}` } });
  const addresses = answer.ok && answer.value.status === 200 ? parseJson(answer.value.text) : undefined;
  if (!Array.isArray(addresses)) return '';
  const primary = addresses.find((entry) => isObject(entry) && entry.primary === true && entry.verified === true);
  return isObject(primary) ? readText(primary.email) : '';
}

export function discordProvider(
  settings: NonNullable<AuthSettings['providers']['discord']>,
  open: OpenProvider,
): IdentityProvider {
  const { baseUrl, clientId } = settings;
  return {
    slug: 'discord',
    name: 'Discord',
    authorizationUrl: async (request) =>
      authorizationUrl(`${baseUrl}/oauth2/authorize`, { clientId, scopes: 'identify', request }),
    async identify(answer) {
      const call = open([baseUrl]);
      const endpoint = `${baseUrl}/api/v10/oauth2/token`;
      const { accessToken } = await exchangeCode(call, {
        endpoint,
        client: settings,
        authentication: ['form'],
        answer,
      });
      const profile = await readProfile(call, { url: `${baseUrl}/api/v10/users/@me`, accessToken });
      return {
        subject: readSubject(profile.id),
        username: readText(profile.username),
        displayName: readText(profile.global_name),
        email: '',
      };
    },
  };
}

export function linuxdoProvider(
  settings: NonNullable<AuthSettings['providers']['linuxdo']>,
  open: OpenProvider,
): IdentityProvider {
  const { baseUrl, clientId, minimumTrustLevel } = settings;
  return {
    slug: 'linuxdo',
    name: 'LinuxDO',
    authorizationUrl: async (request) =>
      authorizationUrl(`${baseUrl}/oauth2/authorize`, { clientId, scopes: 'user', request }),
    async identify(answer) {
      const call = open([baseUrl]);
      const endpoint = `${baseUrl}/oauth2/token`;
      const { accessToken } = await exchangeCode(call, {
        endpoint,
        client: settings,
        authentication: ['basic'],
        answer,
      });
      const profile = await readProfile(call, { url: `${baseUrl}/api/user`, accessToken });
      const subject = readSubject(typeof profile.id === 'number' ? profile.id : undefined);
      const level = typeof profile.trust_level === 'number' ? profile.trust_level : -1;
      if (level < minimumTrustLevel) {
        throw authErrors.access_denied({
          message: sentence('auth.trust_level', { level: minimumTrustLevel }),
        });
      }
      return { subject, username: readText(profile.username), displayName: readText(profile.name), email: '' };
    },
  };
}
