import { type Clock, isObject, parseJson, type ReportCacheSize, type SecretBox, sentence } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { type CallProvider, openProvider, type Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { customProvider } from './custom-provider.ts';
import { createUseMetadata } from './discover.ts';
import { type IdentityProvider, type OpenProvider, readSubject, readText } from './identity-provider.ts';
import { authorizationUrl, exchangeCode, readProfile } from './oauth-requests.ts';
import { oidcProvider } from './oidc-provider.ts';

/**
 * The provider with this slug under the present configuration; it is not contacted yet.
 *
 * @throws `auth.method_disabled` for one that is switched off, incomplete or unknown.
 */
export type FindProvider = (slug: string) => Promise<IdentityProvider>;

export function createFindProvider(deps: {
  store: Store;
  clock: Clock;
  upstream: Upstream;
  secretBox: SecretBox;
  settings: () => AuthSettings;
  reportCacheSize?: ReportCacheSize;
}): FindProvider {
  const { store, clock, upstream, secretBox, settings } = deps;
  const open: OpenProvider = (configured) => openProvider(upstream, configured);
  const useMetadata = createUseMetadata(clock, deps.reportCacheSize);

  const builtIn: Record<string, (providers: AuthSettings['providers']) => IdentityProvider | undefined> = {
    github: ({ github }) => github && githubProvider(github, open),
    discord: ({ discord }) => discord && discordProvider(discord, open),
    linuxdo: ({ linuxdo }) => linuxdo && linuxdoProvider(linuxdo, open),
    oidc: ({ oidc }) => oidc && oidcProvider(oidc, open, useMetadata),
  };

  return async (slug) => {
    const build = Object.hasOwn(builtIn, slug) ? builtIn[slug] : undefined;
    if (build) {
      const provider = build(settings().providers);
      if (!provider) throw authErrors.method_disabled();
      return provider;
    }
    const record = await store.providers.bySlug(slug);
    if (!record?.enabled) throw authErrors.method_disabled();
    return customProvider(record, { open, useMetadata, secretBox });
  };
}

/** GitHub's media type for its REST API. */
const HEADERS = { accept: 'application/vnd.github+json' };

function githubProvider(
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

function discordProvider(
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

function linuxdoProvider(
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
