import { baseAddress, boolean, endpoint, identifier, integer, type OptionRules, secret, text } from './option-rule.ts';

export const githubOptions = {
  GitHubOAuthEnabled: { proof: 'settings.security', ...boolean(false) },
  GitHubClientId: { proof: 'settings.security', ...identifier('the client ID of the OAuth app') },
  GitHubClientSecret: { proof: 'settings.security', ...secret('the client secret of the OAuth app') },
  /** The site of GitHub or of a GitHub Enterprise Server. */
  GitHubBaseUrl: { proof: 'settings.security', ...baseAddress('https://github.com') },
  /** Its API; on a GitHub Enterprise Server `https://HOST/api/v3`. */
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
  /** Accounts of a lower trust level are refused. */
  LinuxDOMinimumTrustLevel: { proof: 'settings.security', ...integer(0, 0, 4) },
  LinuxDOBaseUrl: { proof: 'settings.security', ...baseAddress('https://connect.linux.do') },
} satisfies OptionRules;

export const oidcOptions = {
  'oidc.enabled': { proof: 'settings.security', ...boolean(false) },
  /** On the button; nothing: OIDC. */
  'oidc.display_name': { proof: 'settings.security', ...text('') },
  'oidc.client_id': { proof: 'settings.security', ...identifier('the client ID of the provider') },
  'oidc.client_secret': { proof: 'settings.security', ...secret('the client secret of the provider') },
  /** The discovery document; issuer and keys come from it. */
  'oidc.well_known': { proof: 'settings.security', ...endpoint('') },
  /** Instead of what the discovery document says. */
  'oidc.authorization_endpoint': { proof: 'settings.security', ...endpoint('') },
  'oidc.token_endpoint': { proof: 'settings.security', ...endpoint('') },
  'oidc.user_info_endpoint': { proof: 'settings.security', ...endpoint('') },
} satisfies OptionRules;
