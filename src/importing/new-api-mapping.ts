/**
 * How the tables of new-api are imported. This is the only file to read, and to change, when a
 * release of new-api moves something. A column that a database lacks reads as null.
 */
import { trimTrailing } from '../kernel/index.ts';

/** The columns that are read. Without one of `needed` a table cannot be understood. */
export const TABLES = {
  setups: { needed: ['id'], optional: ['version', 'initialized_at'] },
  options: { needed: ['key', 'value'], optional: [] },
  users: {
    needed: ['id', 'username', 'password', 'role', 'status', 'quota'],
    optional: [
      ...['display_name', 'email', 'github_id', 'discord_id', 'oidc_id', 'wechat_id', 'telegram_id', 'linux_do_id'],
      ...['access_token', 'used_quota', 'request_count', 'group', 'aff_code', 'aff_quota', 'inviter_id', 'setting'],
      ...['remark', 'created_at', 'last_login_at', 'deleted_at'],
    ],
  },
  tokens: {
    needed: ['id', 'user_id', 'key', 'status', 'remain_quota'],
    optional: [
      ...['name', 'created_time', 'accessed_time', 'expired_time', 'unlimited_quota', 'model_limits_enabled'],
      ...['model_limits', 'allow_ips', 'used_quota', 'group', 'deleted_at'],
    ],
  },
  channels: {
    needed: ['id', 'type', 'key', 'models'],
    optional: [
      ...['name', 'status', 'weight', 'priority', 'base_url', 'group', 'model_mapping', 'channel_info', 'other'],
      ...['setting', 'settings', 'param_override', 'header_override', 'status_code_mapping', 'open_ai_organization'],
      'created_time',
    ],
  },
  two_fas: { needed: ['id', 'user_id', 'secret', 'is_enabled'], optional: ['deleted_at'] },
  two_fa_backup_codes: { needed: ['id', 'user_id'], optional: ['is_used', 'deleted_at'] },
  passkey_credentials: {
    needed: ['id', 'user_id', 'credential_id', 'public_key'],
    optional: ['sign_count', 'backup_state', 'transports', 'deleted_at'],
  },
  custom_oauth_providers: {
    needed: ['id', 'name', 'slug', 'client_id'],
    optional: [
      ...['icon', 'enabled', 'client_secret', 'authorization_endpoint', 'token_endpoint', 'user_info_endpoint'],
      ...['scopes', 'user_id_field', 'username_field', 'display_name_field', 'email_field', 'well_known'],
      ...['auth_style', 'access_policy', 'access_denied_message'],
    ],
  },
  user_oauth_bindings: { needed: ['id', 'user_id', 'provider_id', 'provider_user_id'], optional: [] },
  task_plugins: {
    needed: ['key', 'version', 'source', 'source_hash'],
    optional: ['api_version', 'icon', 'enabled', 'active', 'remark', 'created_at'],
  },
  casbin_rule: { needed: ['id', 'ptype', 'v0', 'v1'], optional: [] },
} as const satisfies Record<string, { needed: readonly string[]; optional: readonly string[] }>;

export type TableName = keyof typeof TABLES;
/** Without these there is nothing to import. */
export const NEEDED_TABLES: readonly TableName[] = ['users', 'tokens', 'channels', 'options'];

/** Tables that are not imported; the report counts their rows. */
export const SKIPPED_TABLES: Readonly<Record<string, string>> = {
  tasks: 'tasks stay there: keep its database for as long as people ask about them',
  midjourneys: 'Midjourney tasks stay there',
  logs: 'the log stays there; balances and used quota are taken as they are',
  redemptions: 'there are no redemption codes here: usable ones must be credited by an administrator',
  top_ups: 'payments stay there; what was paid is in the balances',
  user_subscriptions: 'there are no subscriptions here: what is left of one must be credited by an administrator',
};

/** Subjects in columns of `users`, by the provider's name here. */
export const IDENTITY_COLUMNS = {
  github_id: 'github',
  discord_id: 'discord',
  oidc_id: 'oidc',
  linux_do_id: 'linuxdo',
  telegram_id: 'telegram',
  wechat_id: 'wechat',
} as const;

/**
 * The channel that one of new-api becomes. `plugin`: the plugin that declares the same type.
 * `address`: the vendor's, where the channel has none of its own. `relay`: an OpenAI-compatible
 * vendor. `bound`: the plugins that the channel itself names; without one it is a relay where
 * `relay` says so. `own`: the models of `plugin`, where all others are relayed.
 */
export type ChannelRule = { address: string; plugin?: string; relay?: true; bound?: true; own?: RegExp };

export const CHANNEL_TYPES: Readonly<Record<number, ChannelRule>> = {
  1: { relay: true, address: 'https://api.openai.com' },
  8: { relay: true, address: '' },
  17: { plugin: 'ali', address: 'https://dashscope.aliyuncs.com' },
  20: { relay: true, address: '' },
  24: { plugin: 'gemini', address: 'https://generativelanguage.googleapis.com' },
  25: { relay: true, address: '' },
  35: { plugin: 'hailuo', address: 'https://api.minimax.chat' },
  36: { plugin: 'sunoapi', address: '' },
  40: { relay: true, address: '' },
  41: { plugin: 'vertex', address: 'https://us-central1-aiplatform.googleapis.com' },
  42: { relay: true, address: '' },
  43: { relay: true, address: '' },
  45: { plugin: 'doubao', address: 'https://ark.cn-beijing.volces.com' },
  48: { relay: true, plugin: 'xai', own: /^grok-imagine-video/, address: 'https://api.x.ai' },
  50: { plugin: 'kling', address: 'https://api.klingai.com' },
  51: { plugin: 'jimeng', address: 'https://visual.volcengineapi.com' },
  52: { plugin: 'vidu', address: 'https://api.vidu.cn' },
  54: { plugin: 'doubao', address: 'https://ark.cn-beijing.volces.com' },
  55: { plugin: 'sora', address: 'https://api.openai.com' },
  59: { relay: true, address: '' },
  60: { bound: true, relay: true, address: '' },
  61: { bound: true, address: '' },
};

/** Why channels of the other types stay there. */
export const UNKNOWN_TYPE = 'no plugin serves this channel type';

/** For these a key that begins with `sk-` is that of another gateway, which they call instead. */
export const GATEWAY_KEY_TYPES: readonly number[] = [50, 51];

/**
 * The price of one call in USD, `price`, as an expression; `undefined` where new-api multiplies by
 * what the plugin's facts do not say.
 */
export const CALL_PRICES: Readonly<Record<string, (price: string, model: string) => string | undefined>> = {
  kling: (price) => price,
  vidu: (price) => price,
  jimeng: (price) => price,
  hailuo: (price) => price,
  sunoapi: (price) => price,
  // The price is that of a second; the wide sizes cost two thirds more.
  sora: (price) => `${price} * u("seconds") * (u("resolution") == "1024p" ? 1.666667 : 1)`,
  gemini: veoPrice,
  vertex: veoPrice,
  ali: (price, model) =>
    model.startsWith('wan2.5-')
      ? `${price} * u("seconds") * (u("resolution") == "480P" ? 1 : u("resolution") == "720P" ? 2 : 3.3333)`
      : undefined,
};

function veoPrice(price: string, model: string): string | undefined {
  const perSecond = `${price} * u("seconds")`;
  if (model.includes('veo-3.0')) return perSecond;
  if (model.includes('veo-3.1-fast')) return `${perSecond} * (u("resolution") == "4k" ? 2.333333 : 1)`;
  return model.includes('veo-3.1') ? `${perSecond} * (u("resolution") == "4k" ? 1.5 : 1)` : undefined;
}

/** The price of `ratio` of tokens, where the vendor reports them; `undefined` as above. */
export const TOKEN_PRICES: Readonly<Record<string, (ratio: number, model: string) => string | undefined>> = {
  // For 2.0 it multiplies by resolution and input.
  doubao: (ratio, model) =>
    model.includes('seedance-1') ? `${decimal(ratio * 2)} * u("tokens") / 1000000` : undefined,
};

/** The output rates that new-api charges whatever its option says, except names with a slash. */
const FIXED_COMPLETION: readonly (readonly [RegExp, number])[] = [
  [/^gpt-5(?!\.)/, 8],
  [/^o[13](?:-|$)/, 4],
  [/^claude-(?:3|sonnet-4|opus-4|haiku-4)/, 5],
  [/^gpt-4-turbo/, 3],
  [/^gemini-(?:1\.5|2\.0)/, 4],
  [/^mistral-/, 3],
];

export const fixedCompletionRatio = (model: string): number | undefined =>
  model.includes('/') ? undefined : FIXED_COMPLETION.find(([pattern]) => pattern.test(model))?.[1];

/** A number as an expression takes it: no exponent, and at most twelve decimals. */
export const decimal = (number: number): string => trimTrailing(trimTrailing(number.toFixed(12), '0'), '.');

/** Options of new-api that have another name here. */
export const RENAMED_OPTIONS: Readonly<Record<string, string>> = { GroupRatio: 'groups' };

/**
 * Options of new-api that are called and mean the same here. A stranger who could write into the
 * source could have written any other name: an address of a provider, or of a webhook of operators.
 */
export const SAME_OPTIONS: ReadonlySet<string> = new Set([
  ...['SystemName', 'ServerAddress', 'QuotaForNewUser', 'QuotaForInviter', 'QuotaForInvitee'],
  ...['PasswordLoginEnabled', 'RegisterEnabled', 'PasswordRegisterEnabled', 'EmailVerificationEnabled'],
  ...['EmailDomainRestrictionEnabled', 'EmailDomainWhitelist', 'EmailAliasRestrictionEnabled'],
  ...['SMTPServer', 'SMTPPort', 'SMTPAccount', 'SMTPToken', 'SMTPFrom', 'SMTPSSLEnabled', 'SMTPStartTLSEnabled'],
  ...['SMTPInsecureSkipVerify', 'SMTPForceAuthLogin'],
  ...['TurnstileCheckEnabled', 'TurnstileSiteKey', 'TurnstileSecretKey'],
  ...['GitHubOAuthEnabled', 'GitHubClientId', 'GitHubClientSecret'],
  ...['discord.enabled', 'discord.client_id', 'discord.client_secret'],
  ...['LinuxDOOAuthEnabled', 'LinuxDOClientId', 'LinuxDOClientSecret', 'LinuxDOMinimumTrustLevel'],
  ...['oidc.enabled', 'oidc.client_id', 'oidc.client_secret', 'oidc.well_known', 'oidc.authorization_endpoint'],
  ...['oidc.token_endpoint', 'oidc.user_info_endpoint'],
  ...['TelegramOAuthEnabled', 'TelegramBotToken', 'TelegramBotName'],
  ...['WeChatAuthEnabled', 'WeChatServerAddress', 'WeChatServerToken', 'WeChatAccountQRCodeImageURL'],
  ...[
    'passkey.enabled',
    'passkey.rp_display_name',
    'passkey.rp_id',
    'passkey.origins',
    'passkey.allow_insecure_origin',
  ],
  ...['passkey.user_verification', 'passkey.attachment_preference'],
  ...['ModelRequestRateLimitEnabled', 'ModelRequestRateLimitDurationMinutes', 'ModelRequestRateLimitCount'],
  ...['ModelRequestRateLimitSuccessCount', 'ModelRequestRateLimitGroup'],
  ...['legal.user_agreement', 'legal.privacy_policy'],
]);

/** Options that the import has understood in another way, or that change nothing here. */
export const KNOWN_OPTIONS: ReadonlySet<string> = new Set([
  ...['billing_setting.billing_mode', 'billing_setting.billing_expr', 'billing_setting.plugin_billing_expr'],
  ...['QuotaPerUnit', 'ModelPrice', 'ModelRatio', 'CompletionRatio', 'CacheRatio', 'CreateCacheRatio', 'ImageRatio'],
  ...['AudioRatio', 'AudioCompletionRatio', 'GroupRatio', 'SelfUseModeEnabled', 'DemoSiteEnabled'],
]);
