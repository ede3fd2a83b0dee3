import { sentence } from '../../../kernel/index.ts';
import type { AuthSettings } from '../../config.ts';
import { authErrors } from '../../errors.ts';
import { type IdentityProvider, type OpenProvider, readSubject, readText } from '../identity-provider.ts';
import { authorizationUrl, exchangeCode, readProfile } from '../oauth-requests.ts';

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
