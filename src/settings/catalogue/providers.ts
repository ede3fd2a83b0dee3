import { baseAddress, boolean, endpoint, identifier, integer, type OptionRules, secret, text } from './option-rule.ts';

export const githubOptions = {
  GitHubOAuthEnabled: { proof: 'settings.security', ...boolean(false) },
  GitHubClientId: { proof: 'settings.security', ...identifier('the client ID of the OAuth app') },
  GitHubClientSecret: { proof: 'settings.security', ...secret('the client secret of the OAuth app') },
  /** The address of GitHub or of a GitHub Enterprise Server. */
  GitHubBaseUrl: { proof: 'settings.security', ...baseAddress('https://github.com') },
  /** The address of its API; on a GitHub Enterprise Server `https://HOST/api/v3`. */
  GitHubApiUrl: { proof: 'settings.security', ...baseAddress('https://api.github.com') },
} satisfies OptionRules;

export const discordOptions = {
  'discord.enabled': { proof: 'settings.security', ...boolean(false) },
  'discord.client_id': { proof: 'settings.security', ...identifier('the client ID of the application') },
  'discord.client_secret': { proof: 'settings.security', ...secret('the client secret of the application') },
  'discord.base_url': { proof: 'settings.security', ...baseAddress('https://discord.com') },
} satisfies OptionRules;

export const linuxdoOptions = {
  LinuxDOOAuthEnabled: { proof: 'settings.security', ...boolean(false) },
  LinuxDOClientId: { proof: 'settings.security', ...identifier('the client ID of the application') },
  LinuxDOClientSecret: { proof: 'settings.security', ...secret('the client secret of the application') },
  /** Accounts with a lower trust level are refused. */
  LinuxDOMinimumTrustLevel: { proof: 'settings.security', ...integer(0, 0, 4) },
  LinuxDOBaseUrl: { proof: 'settings.security', ...baseAddress('https://connect.linux.do') },
} satisfies OptionRules;

export const oidcOptions = {
  'oidc.enabled': { proof: 'settings.security', ...boolean(false) },
  /** The provider's name on the sign-in button. Empty: OIDC. */
  'oidc.display_name': { proof: 'settings.security', ...text('') },
  'oidc.client_id': { proof: 'settings.security', ...identifier('the client ID of the provider') },
  'oidc.client_secret': { proof: 'settings.security', ...secret('the client secret of the provider') },
  /** The address of the discovery document, which names issuer and keys. */
  'oidc.well_known': { proof: 'settings.security', ...endpoint('') },
  /** These three override the discovery document. */
  'oidc.authorization_endpoint': { proof: 'settings.security', ...endpoint('') },
  'oidc.token_endpoint': { proof: 'settings.security', ...endpoint('') },
  'oidc.user_info_endpoint': { proof: 'settings.security', ...endpoint('') },
} satisfies OptionRules;
