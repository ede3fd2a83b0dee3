import type { Clock, SecretBox, WatchCache } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { discordProvider, githubProvider, linuxdoProvider } from './built-in-providers.ts';
import { customProvider } from './custom-provider.ts';
import { createUseMetadata } from './discover.ts';
import type { IdentityProvider, OpenProvider } from './identity-provider.ts';
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
  watchCache?: WatchCache;
}): FindProvider {
  const { store, clock, upstream, secretBox, settings } = deps;
  const open: OpenProvider = (configured) => openProvider(upstream, configured);
  const useMetadata = createUseMetadata(clock, deps.watchCache);

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
