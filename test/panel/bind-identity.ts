import { ask } from '../support/gateway.ts';
import type { IdentityProvider } from '../support/identity-provider.ts';

type Binding = { token: string; idp: IdentityProvider /** The provider's slug. */; provider: string };

/** Binds an identity to the account of `token`, with the same requests as the panel's page. */
export async function bindIdentity(url: string, { token, idp, provider }: Binding): Promise<void> {
  const started = await ask(`${url}/api/oauth/state`, { token, body: { provider, intent: 'bind' } });
  const { authorization_url: authorizationUrl } = started.body.data as { authorization_url: string };
  const { query } = await idp.agree(authorizationUrl);
  const bound = await ask(`${url}/api/oauth/${provider}?${new URLSearchParams(query)}`, { token });
  if (bound.status !== 200) throw new Error(`binding at ${provider}: ${bound.status} ${JSON.stringify(bound.body)}`);
}
