import type { GatewayStatus } from '../../api/types.ts';

export type OfferedProvider = { slug: string; name: string };

/** The providers for sign-in, in the order of their buttons. */
export function listProviders(status: GatewayStatus): OfferedProvider[] {
  return [
    ...(status.github_oauth ? [{ slug: 'github', name: 'GitHub' }] : []),
    ...(status.discord_oauth ? [{ slug: 'discord', name: 'Discord' }] : []),
    ...(status.linuxdo_oauth ? [{ slug: 'linuxdo', name: 'LinuxDO' }] : []),
    ...(status.oidc_enabled ? [{ slug: 'oidc', name: status.oidc_display_name }] : []),
    ...status.custom_oauth_providers.map(({ slug, name }) => ({ slug, name })),
  ];
}
