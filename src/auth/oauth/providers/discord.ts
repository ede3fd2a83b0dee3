import type { AuthSettings } from '../../config.ts';
import { type IdentityProvider, type OpenProvider, readSubject, readText } from '../identity-provider.ts';
import { authorizationUrl, exchangeCode, readProfile } from '../oauth-requests.ts';

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
