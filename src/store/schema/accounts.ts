import type { Budget } from '../../kernel/index.ts';
import type { EnabledStatus, FlowPurpose, FormerSecret, OAuthAuthStyle, Role, SessionStatus } from '../ports/index.ts';
import type { Kit } from './kits.ts';

/** People, how they sign in, and the keys they give to programs. Times are Unix seconds. */
export const defineAccounts = (kit: Kit) => ({
  users: kit.table('users', {
    id: kit.id(),
    username: kit.text('username').notNull(),
    displayName: kit.text('display_name').notNull().default(''),
    passwordHash: kit.text('password_hash'),
    role: kit.int('role').$type<Role>().notNull(),
    status: kit.int('status').$type<EnabledStatus>().notNull(),
    email: kit.text('email'),
    group: kit.text('group').notNull().default('default'),
    language: kit.text('language').notNull().default(''),
    /** SHA-256 of the personal access token in hex (clear text before migration 0002). */
    accessToken: kit.varchar('access_token', 64),
    accessTokenPrefix: kit.text('access_token_prefix').notNull().default(''),
    accessTokenCreatedAt: kit.big('access_token_created_at').notNull().default(0),
    telegramId: kit.text('telegram_id'),
    githubId: kit.text('github_id'),
    discordId: kit.text('discord_id'),
    oidcId: kit.text('oidc_id'),
    linuxDoId: kit.text('linux_do_id'),
    wechatId: kit.text('wechat_id'),
    createdAt: kit.big('created_at').notNull(),
    lastLoginAt: kit.big('last_login_at').notNull().default(0),
    /** 0: not deleted. */
    deletedAt: kit.big('deleted_at').notNull().default(0),
    /** When the content of a deleted account was erased. 0: not yet. */
    erasedAt: kit.big('erased_at').notNull().default(0),
    authVersion: kit.big('auth_version').notNull().default(1),
    linkVersion: kit.big('link_version').notNull().default(0),
    /** null: not asked for yet. */
    affCode: kit.varchar('aff_code', 32),
    inviterId: kit.big('inviter_id').notNull().default(0),
    remark: kit.text('remark').notNull().default(''),
    budget: kit.json<Budget>('budget'),
    requestsPerMinute: kit.int('requests_per_minute'),
    maxRunning: kit.int('max_running'),
  }),

  userSessions: kit.table('user_sessions', {
    sid: kit.varchar('sid', 64).primaryKey(),
    userId: kit.big('user_id').notNull(),
    version: kit.big('version').notNull().default(1),
    userAuthVersion: kit.big('user_auth_version').notNull(),
    status: kit.varchar('status', 16).$type<SessionStatus>().notNull(),
    refreshHash: kit.varchar('refresh_hash', 64).notNull(),
    previousRefreshHash: kit.varchar('previous_refresh_hash', 64),
    previousValidUntil: kit.big('previous_valid_until').notNull().default(0),
    loginMethod: kit.varchar('login_method', 32).notNull(),
    ip: kit.varchar('ip', 64).notNull(),
    userAgent: kit.text('user_agent').notNull(),
    addressKey: kit.text('address_key').notNull().default(''),
    createdAt: kit.big('created_at').notNull(),
    lastActiveAt: kit.big('last_active_at').notNull(),
    expiresAt: kit.big('expires_at').notNull(),
    revokedAt: kit.big('revoked_at').notNull().default(0),
    revokedReason: kit.varchar('revoked_reason', 64).notNull().default(''),
  }),

  authFlows: kit.table('auth_flows', {
    id: kit.id(),
    tokenHash: kit.varchar('token_hash', 64).notNull(),
    purpose: kit.varchar('purpose', 32).$type<FlowPurpose>().notNull(),
    provider: kit.varchar('provider', 64).notNull().default(''),
    intent: kit.varchar('intent', 16).notNull().default(''),
    userId: kit.big('user_id').notNull().default(0),
    sessionId: kit.varchar('session_id', 64).notNull().default(''),
    /** A JSON object; empty means {}. */
    payload: kit.text('payload').notNull().default(''),
    createdAt: kit.big('created_at').notNull(),
    expiresAt: kit.big('expires_at').notNull(),
    consumedAt: kit.big('consumed_at'),
    /** Hex HMAC-SHA256 of a code that was sent; empty: the flow is used with its token alone. */
    secretHash: kit.varchar('secret_hash', 64).notNull().default(''),
    tries: kit.int('tries').notNull().default(0),
  }),

  externalIdentityClaims: kit.table('external_identity_claims', {
    id: kit.id(),
    provider: kit.varchar('provider', 32).notNull(),
    subject: kit.varchar('subject', 128).notNull(),
    userId: kit.big('user_id').notNull(),
    createdAt: kit.big('created_at').notNull(),
  }),

  oauthProviders: kit.table('oauth_providers', {
    id: kit.id(),
    slug: kit.varchar('slug', 32).notNull(),
    name: kit.text('name').notNull(),
    icon: kit.text('icon').notNull(),
    enabled: kit.bool('enabled').notNull(),
    clientId: kit.text('client_id').notNull(),
    clientSecretSealed: kit.text('client_secret_sealed').notNull(),
    authorizationEndpoint: kit.text('authorization_endpoint').notNull(),
    tokenEndpoint: kit.text('token_endpoint').notNull(),
    userInfoEndpoint: kit.text('user_info_endpoint').notNull(),
    wellKnown: kit.text('well_known').notNull(),
    scopes: kit.text('scopes').notNull(),
    userIdField: kit.text('user_id_field').notNull(),
    usernameField: kit.text('username_field').notNull(),
    displayNameField: kit.text('display_name_field').notNull(),
    emailField: kit.text('email_field').notNull(),
    authStyle: kit.int('auth_style').$type<OAuthAuthStyle>().notNull(),
    accessPolicy: kit.text('access_policy').notNull(),
    accessDeniedMessage: kit.text('access_denied_message').notNull(),
    createdAt: kit.big('created_at').notNull(),
    updatedAt: kit.big('updated_at').notNull(),
  }),

  passkeys: kit.table('passkeys', {
    id: kit.id(),
    userId: kit.big('user_id').notNull(),
    credentialId: kit.text('credential_id').notNull(),
    publicKey: kit.text('public_key').notNull(),
    rpId: kit.text('rp_id').notNull(),
    name: kit.text('name').notNull(),
    counter: kit.big('counter').notNull(),
    transports: kit.json<string[]>('transports').notNull(),
    backedUp: kit.bool('backed_up').notNull(),
    createdAt: kit.big('created_at').notNull(),
    lastUsedAt: kit.big('last_used_at').notNull().default(0),
  }),

  twoFactor: kit.table('two_factor', {
    userId: kit.big('user_id').primaryKey(),
    secretSealed: kit.text('secret_sealed').notNull(),
    enabled: kit.bool('enabled').notNull().default(false),
    lastStep: kit.big('last_step').notNull().default(0),
    failures: kit.int('failures').notNull().default(0),
    lockedUntil: kit.big('locked_until').notNull().default(0),
    createdAt: kit.big('created_at').notNull(),
  }),

  backupCodes: kit.table('backup_codes', {
    id: kit.id(),
    userId: kit.big('user_id').notNull(),
    codeHash: kit.varchar('code_hash', 64).notNull(),
    createdAt: kit.big('created_at').notNull(),
    /** null: not used yet. */
    usedAt: kit.big('used_at'),
  }),

  /** Each user has one of their own. */
  wallets: kit.table('wallets', {
    id: kit.id(),
    /** null: it is nobody's own. */
    userId: kit.big('user_id'),
    quota: kit.big('quota').notNull().default(0),
    usedQuota: kit.big('used_quota').notNull().default(0),
    requestCount: kit.big('request_count').notNull().default(0),
    createdAt: kit.big('created_at').notNull(),
  }),

  apiKeys: kit.table('api_keys', {
    id: kit.id(),
    userId: kit.big('user_id').notNull(),
    walletId: kit.big('wallet_id').notNull(),
    name: kit.text('name').notNull(),
    keyHash: kit.varchar('key_hash', 64).notNull(),
    prefix: kit.text('prefix').notNull(),
    formerHash: kit.varchar('former_hash', 64).notNull().default(''),
    formerPrefix: kit.text('former_prefix').notNull().default(''),
    formerUntil: kit.big('former_until').notNull().default(0),
    status: kit.int('status').$type<EnabledStatus>().notNull(),
    unlimitedQuota: kit.bool('unlimited_quota').notNull(),
    quota: kit.big('quota').notNull(),
    usedQuota: kit.big('used_quota').notNull().default(0),
    budget: kit.json<Budget>('budget'),
    requestsPerMinute: kit.int('requests_per_minute'),
    maxRunning: kit.int('max_running'),
    models: kit.json<string[]>('models').notNull(),
    allowIps: kit.json<string[]>('allow_ips').notNull(),
    expiresAt: kit.big('expires_at').notNull().default(0),
    group: kit.text('group'),
    webhookUrl: kit.text('webhook_url'),
    webhookSecretSealed: kit.text('webhook_secret_sealed'),
    webhookFormers: kit.json<FormerSecret[]>('webhook_formers').notNull().default([]),
    keepResults: kit.bool('keep_results').notNull().default(false),
    storeRequests: kit.bool('store_requests').notNull().default(true),
    createdAt: kit.big('created_at').notNull(),
    lastUsedAt: kit.big('last_used_at').notNull().default(0),
    lastUsedIp: kit.text('last_used_ip').notNull().default(''),
  }),

  taskViews: kit.table('task_views', {
    id: kit.id(),
    userId: kit.big('user_id').notNull(),
    name: kit.text('name').notNull(),
    query: kit.text('query').notNull(),
    createdAt: kit.big('created_at').notNull(),
  }),
});

/** Warnings of a low balance. Times are Unix seconds. */
export const defineAlerts = (kit: Kit) => ({
  balanceAlerts: kit.table('balance_alerts', {
    userId: kit.big('user_id').primaryKey(),
    threshold: kit.big('threshold'),
    mail: kit.bool('mail').notNull().default(true),
    webhookUrl: kit.text('webhook_url'),
    webhookSecretSealed: kit.text('webhook_secret_sealed'),
    toldAt: kit.big('told_at').notNull().default(0),
    toldThreshold: kit.big('told_threshold').notNull().default(0),
  }),
});
