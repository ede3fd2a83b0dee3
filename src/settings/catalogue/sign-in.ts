/**
 * Sign-in and registration, Turnstile, `passkey.`, and the providers: GitHub, `discord.`, LinuxDO,
 * `oidc.`, Telegram, WeChat.
 */
import {
  baseAddress,
  boolean,
  choice,
  endpoint,
  identifier,
  integer,
  isDomain,
  isOrigin,
  list,
  type OptionRules,
  secret,
  text,
} from './option-rule.ts';

const MAX_DOMAINS = 200;
/** Far above any grant, and far below the point where sums of balances stop being exact. */
const MAX_QUOTA = 1_000_000_000_000;

export const signInOptions = {
  PasswordLoginEnabled: { proof: 'settings.security', ...boolean(true) },
  /** Whether anybody can create an account, by any method. */
  RegisterEnabled: { proof: 'settings.security', ...boolean(false) },
  /** Whether an account can be created with a password. */
  PasswordRegisterEnabled: { proof: 'settings.security', ...boolean(true) },
  /** Whether a new account needs an address verified by a mailed code. */
  EmailVerificationEnabled: { proof: 'settings.security', ...boolean(false) },
  /** Whether new addresses must belong to `EmailDomainWhitelist`. */
  EmailDomainRestrictionEnabled: { proof: 'settings.security', ...boolean(false) },
  EmailDomainWhitelist: {
    proof: 'settings.security',
    ...list({
      initial: [
        'gmail.com',
        '163.com',
        '126.com',
        'qq.com',
        'outlook.com',
        'hotmail.com',
        'icloud.com',
        'yahoo.com',
        'foxmail.com',
      ],
      maximum: MAX_DOMAINS,
      allows: isDomain,
      wanted: 'domains in lower case, without @ (example.org,example.com)',
    }),
  },
  /** Whether addresses with `+` or `.` before the @ are refused: one mailbox has many of those. */
  EmailAliasRestrictionEnabled: { proof: 'settings.security', ...boolean(false) },
  /** The balance of a new account; 500,000 are one US dollar. */
  QuotaForNewUser: { proof: 'none', ...integer(0, 0, MAX_QUOTA) },
  /** Granted to the owner of an affiliate code for each account created with it. */
  QuotaForInviter: { proof: 'none', ...integer(0, 0, MAX_QUOTA) },
  /** What an account created with an affiliate code gets on top. */
  QuotaForInvitee: { proof: 'none', ...integer(0, 0, MAX_QUOTA) },
} satisfies OptionRules;

export const challengeOptions = {
  /** Whether people must pass Turnstile to register or to have a code or link mailed. */
  TurnstileCheckEnabled: { proof: 'settings.security', ...boolean(false) },
  TurnstileSiteKey: { proof: 'settings.security', ...identifier('the site key of Turnstile') },
  TurnstileSecretKey: { proof: 'settings.security', ...secret('the secret key of Turnstile') },
  TurnstileVerifyUrl: {
    proof: 'settings.security',
    ...endpoint('https://challenges.cloudflare.com/turnstile/v0/siteverify'),
  },
} satisfies OptionRules;

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

export const telegramOptions = {
  TelegramOAuthEnabled: { proof: 'settings.security', ...boolean(false) },
  TelegramBotToken: { proof: 'settings.security', ...secret('the token that BotFather gave for the bot') },
  TelegramBotName: {
    proof: 'settings.security',
    ...text(
      '',
      (value) => value === '' || /^[A-Za-z][A-Za-z0-9_]{4,31}$/.test(value),
      "the bot's username without @: 5 to 32 letters, digits and underscores, beginning with a letter, or nothing",
    ),
  },
} satisfies OptionRules;

export const wechatOptions = {
  WeChatAuthEnabled: { proof: 'settings.security', ...boolean(false) },
  /** The server that resolves a code to a WeChat user. */
  WeChatServerAddress: { proof: 'settings.security', ...baseAddress('') },
  WeChatServerToken: { proof: 'settings.security', ...secret('the token of the WeChat server') },
  /** The QR code that people scan. */
  WeChatAccountQRCodeImageURL: { proof: 'settings.security', ...endpoint('') },
} satisfies OptionRules;

const MAX_ORIGINS = 20;

export const passkeyOptions = {
  /**
   * Whether passkeys can be created and used. While off, users can still rename and delete theirs.
   */
  'passkey.enabled': { proof: 'settings.security', ...boolean(true) },
  /** The gateway's name in passkey dialogs. Empty: the system name. */
  'passkey.rp_display_name': { proof: 'settings.security', ...text('') },
  /**
   * The domain that passkeys belong to. Empty: the host of ServerAddress. A passkey works for the
   * domain it was created for only.
   */
  'passkey.rp_id': {
    proof: 'settings.security',
    ...text(
      '',
      (value) => value === '' || isDomain(value),
      "a domain in lower case, the panel's own host or one above it (example.org for https://panel.example.org), without scheme and port, or nothing",
    ),
  },
  /** The origins at which passkeys can be used. Empty: the origin of ServerAddress. */
  'passkey.origins': {
    proof: 'settings.security',
    ...list({
      maximum: MAX_ORIGINS,
      allows: isOrigin,
      wanted:
        'exact origins in lower case (https://panel.example.org, with a port if it is not the usual one, without slash at the end), or nothing',
    }),
  },
  /**
   * Whether passkeys can be used on plain http pages other than localhost. Few browsers allow it.
   */
  'passkey.allow_insecure_origin': { proof: 'settings.security', ...boolean(false) },
  /** Whether an authenticator must verify the person by PIN or biometrics. */
  'passkey.user_verification': {
    proof: 'settings.security',
    ...choice(['preferred', 'required', 'discouraged'], 'preferred, required or discouraged'),
  },
  /** Which authenticators may store a new passkey: this device, another one, or any. */
  'passkey.attachment_preference': {
    proof: 'settings.security',
    ...choice(['', 'platform', 'cross-platform'], 'platform, cross-platform or nothing'),
  },
} satisfies OptionRules;
