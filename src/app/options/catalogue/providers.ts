import { baseAddress, boolean, endpoint, identifier, integer, secret, text } from '../option-rule.ts';

export const githubOptions = {
  GitHubOAuthEnabled: boolean(false),
  GitHubClientId: identifier('the client ID of the OAuth app'),
  GitHubClientSecret: secret('the client secret of the OAuth app'),
  /** The site of GitHub or of a GitHub Enterprise Server. */
  GitHubBaseUrl: baseAddress('https://github.com'),
  /** Its API; on a GitHub Enterprise Server `https://HOST/api/v3`. */
  GitHubApiUrl: baseAddress('https://api.github.com'),
};

export const discordOptions = {
  'discord.enabled': boolean(false),
  'discord.client_id': identifier('the client ID of the application'),
  'discord.client_secret': secret('the client secret of the application'),
  'discord.base_url': baseAddress('https://discord.com'),
};

export const linuxdoOptions = {
  LinuxDOOAuthEnabled: boolean(false),
  LinuxDOClientId: identifier('the client ID of the application'),
  LinuxDOClientSecret: secret('the client secret of the application'),
  /** Accounts of a lower trust level are refused. */
  LinuxDOMinimumTrustLevel: integer(0, 0, 4),
  LinuxDOBaseUrl: baseAddress('https://connect.linux.do'),
};

export const oidcOptions = {
  'oidc.enabled': boolean(false),
  /** On the button; nothing: OIDC. */
  'oidc.display_name': text(''),
  'oidc.client_id': identifier('the client ID of the provider'),
  'oidc.client_secret': secret('the client secret of the provider'),
  /** The discovery document; issuer and keys come from it. */
  'oidc.well_known': endpoint(''),
  /** Instead of what the discovery document says. */
  'oidc.authorization_endpoint': endpoint(''),
  'oidc.token_endpoint': endpoint(''),
  'oidc.user_info_endpoint': endpoint(''),
};
