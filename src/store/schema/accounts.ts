import type { Budget } from '../../kernel/index.ts';
import type { EnabledStatus, FlowPurpose, FormerSecret, OAuthAuthStyle, Role, SessionStatus } from '../ports/index.ts';
import type { DialectColumns } from './dialect-columns.ts';

/** People, how they sign in, and the keys they give to programs. Times are Unix seconds. */
export const defineAccounts = (columns: DialectColumns) => ({
  users: columns.table('users', {
    id: columns.id(),
    username: columns.text('username').notNull(),
    displayName: columns.text('display_name').notNull().default(''),
    passwordHash: columns.text('password_hash'),
    role: columns.int('role').$type<Role>().notNull(),
    status: columns.int('status').$type<EnabledStatus>().notNull(),
    email: columns.text('email'),
    group: columns.text('group').notNull().default('default'),
    language: columns.text('language').notNull().default(''),
    /** SHA-256 of the personal access token in hex (clear text before migration 0002). */
    accessToken: columns.varchar('access_token', 64),
    accessTokenPrefix: columns.text('access_token_prefix').notNull().default(''),
    accessTokenCreatedAt: columns.big('access_token_created_at').notNull().default(0),
    telegramId: columns.text('telegram_id'),
    githubId: columns.text('github_id'),
    discordId: columns.text('discord_id'),
    oidcId: columns.text('oidc_id'),
    linuxDoId: columns.text('linux_do_id'),
    wechatId: columns.text('wechat_id'),
    createdAt: columns.big('created_at').notNull(),
    lastLoginAt: columns.big('last_login_at').notNull().default(0),
    /** 0: not deleted. */
    deletedAt: columns.big('deleted_at').notNull().default(0),
    /** When the content of a deleted account was erased. 0: not yet. */
    erasedAt: columns.big('erased_at').notNull().default(0),
    authVersion: columns.big('auth_version').notNull().default(1),
    linkVersion: columns.big('link_version').notNull().default(0),
    /** null: not asked for yet. */
    affCode: columns.varchar('aff_code', 32),
    inviterId: columns.big('inviter_id').notNull().default(0),
    remark: columns.text('remark').notNull().default(''),
    budget: columns.json<Budget>('budget'),
    requestsPerMinute: columns.int('requests_per_minute'),
    maxRunning: columns.int('max_running'),
  }),

  userSessions: columns.table('user_sessions', {
    sid: columns.varchar('sid', 64).primaryKey(),
    userId: columns.big('user_id').notNull(),
    version: columns.big('version').notNull().default(1),
    userAuthVersion: columns.big('user_auth_version').notNull(),
    status: columns.varchar('status', 16).$type<SessionStatus>().notNull(),
    refreshHash: columns.varchar('refresh_hash', 64).notNull(),
    previousRefreshHash: columns.varchar('previous_refresh_hash', 64),
    previousValidUntil: columns.big('previous_valid_until').notNull().default(0),
    loginMethod: columns.varchar('login_method', 32).notNull(),
    ip: columns.varchar('ip', 64).notNull(),
    userAgent: columns.text('user_agent').notNull(),
    addressKey: columns.text('address_key').notNull().default(''),
    createdAt: columns.big('created_at').notNull(),
    lastActiveAt: columns.big('last_active_at').notNull(),
    expiresAt: columns.big('expires_at').notNull(),
    revokedAt: columns.big('revoked_at').notNull().default(0),
    revokedReason: columns.varchar('revoked_reason', 64).notNull().default(''),
  }),

  authFlows: columns.table('auth_flows', {
    id: columns.id(),
    tokenHash: columns.varchar('token_hash', 64).notNull(),
    purpose: columns.varchar('purpose', 32).$type<FlowPurpose>().notNull(),
    provider: columns.varchar('provider', 64).notNull().default(''),
    intent: columns.varchar('intent', 16).notNull().default(''),
    userId: columns.big('user_id').notNull().default(0),
    sessionId: columns.varchar('session_id', 64).notNull().default(''),
    /** A JSON object; empty means {}. */
    payload: columns.text('payload').notNull().default(''),
    createdAt: columns.big('created_at').notNull(),
    expiresAt: columns.big('expires_at').notNull(),
    consumedAt: columns.big('consumed_at'),
    /** Hex HMAC-SHA256 of a code that was sent; empty: the flow is used with its token alone. */
    secretHash: columns.varchar('secret_hash', 64).notNull().default(''),
    tries: columns.int('tries').notNull().default(0),
  }),

  externalIdentityClaims: columns.table('external_identity_claims', {
    id: columns.id(),
    provider: columns.varchar('provider', 32).notNull(),
    subject: columns.varchar('subject', 128).notNull(),
    userId: columns.big('user_id').notNull(),
    createdAt: columns.big('created_at').notNull(),
  }),

  oauthProviders: columns.table('oauth_providers', {
    id: columns.id(),
    slug: columns.varchar('slug', 32).notNull(),
    name: columns.text('name').notNull(),
    icon: columns.text('icon').notNull(),
    enabled: columns.bool('enabled').notNull(),
    clientId: columns.text('client_id').notNull(),
    clientSecretSealed: columns.text('client_secret_sealed').notNull(),
    authorizationEndpoint: columns.text('authorization_endpoint').notNull(),
    tokenEndpoint: columns.text('token_endpoint').notNull(),
    userInfoEndpoint: columns.text('user_info_endpoint').notNull(),
    wellKnown: columns.text('well_known').notNull(),
    scopes: columns.text('scopes').notNull(),
    userIdField: columns.text('user_id_field').notNull(),
    usernameField: columns.text('username_field').notNull(),
    displayNameField: columns.text('display_name_field').notNull(),
    emailField: columns.text('email_field').notNull(),
    authStyle: columns.int('auth_style').$type<OAuthAuthStyle>().notNull(),
    accessPolicy: columns.text('access_policy').notNull(),
    accessDeniedMessage: columns.text('access_denied_message').notNull(),
    createdAt: columns.big('created_at').notNull(),
    updatedAt: columns.big('updated_at').notNull(),
  }),

  passkeys: columns.table('passkeys', {
    id: columns.id(),
    userId: columns.big('user_id').notNull(),
    credentialId: columns.text('credential_id').notNull(),
    publicKey: columns.text('public_key').notNull(),
    rpId: columns.text('rp_id').notNull(),
    name: columns.text('name').notNull(),
    counter: columns.big('counter').notNull(),
    transports: columns.json<string[]>('transports').notNull(),
    backedUp: columns.bool('backed_up').notNull(),
    createdAt: columns.big('created_at').notNull(),
    lastUsedAt: columns.big('last_used_at').notNull().default(0),
  }),

  twoFactor: columns.table('two_factor', {
    userId: columns.big('user_id').primaryKey(),
    secretSealed: columns.text('secret_sealed').notNull(),
    enabled: columns.bool('enabled').notNull().default(false),
    lastStep: columns.big('last_step').notNull().default(0),
    failures: columns.int('failures').notNull().default(0),
    lockedUntil: columns.big('locked_until').notNull().default(0),
    createdAt: columns.big('created_at').notNull(),
  }),

  backupCodes: columns.table('backup_codes', {
    id: columns.id(),
    userId: columns.big('user_id').notNull(),
    codeHash: columns.varchar('code_hash', 64).notNull(),
    createdAt: columns.big('created_at').notNull(),
    /** null: not used yet. */
    usedAt: columns.big('used_at'),
  }),

  /** Each user has one of their own. */
  wallets: columns.table('wallets', {
    id: columns.id(),
    /** null: it is nobody's own. */
    userId: columns.big('user_id'),
    quota: columns.big('quota').notNull().default(0),
    usedQuota: columns.big('used_quota').notNull().default(0),
    requestCount: columns.big('request_count').notNull().default(0),
    createdAt: columns.big('created_at').notNull(),
  }),

  apiKeys: columns.table('api_keys', {
    id: columns.id(),
    userId: columns.big('user_id').notNull(),
    walletId: columns.big('wallet_id').notNull(),
    name: columns.text('name').notNull(),
    keyHash: columns.varchar('key_hash', 64).notNull(),
    prefix: columns.text('prefix').notNull(),
    formerHash: columns.varchar('former_hash', 64).notNull().default(''),
    formerPrefix: columns.text('former_prefix').notNull().default(''),
    formerUntil: columns.big('former_until').notNull().default(0),
    status: columns.int('status').$type<EnabledStatus>().notNull(),
    unlimitedQuota: columns.bool('unlimited_quota').notNull(),
    quota: columns.big('quota').notNull(),
    usedQuota: columns.big('used_quota').notNull().default(0),
    budget: columns.json<Budget>('budget'),
    requestsPerMinute: columns.int('requests_per_minute'),
    maxRunning: columns.int('max_running'),
    models: columns.json<string[]>('models').notNull(),
    allowIps: columns.json<string[]>('allow_ips').notNull(),
    expiresAt: columns.big('expires_at').notNull().default(0),
    group: columns.text('group'),
    webhookUrl: columns.text('webhook_url'),
    webhookSecretSealed: columns.text('webhook_secret_sealed'),
    webhookFormers: columns.json<FormerSecret[]>('webhook_formers').notNull().default([]),
    keepResults: columns.bool('keep_results').notNull().default(false),
    storeRequests: columns.bool('store_requests').notNull().default(true),
    createdAt: columns.big('created_at').notNull(),
    lastUsedAt: columns.big('last_used_at').notNull().default(0),
    lastUsedIp: columns.text('last_used_ip').notNull().default(''),
  }),

  taskViews: columns.table('task_views', {
    id: columns.id(),
    userId: columns.big('user_id').notNull(),
    name: columns.text('name').notNull(),
    query: columns.text('query').notNull(),
    createdAt: columns.big('created_at').notNull(),
  }),
});

/** Warnings of a low balance. Times are Unix seconds. */
export const defineAlerts = (columns: DialectColumns) => ({
  balanceAlerts: columns.table('balance_alerts', {
    userId: columns.big('user_id').primaryKey(),
    threshold: columns.big('threshold'),
    mail: columns.bool('mail').notNull().default(true),
    webhookUrl: columns.text('webhook_url'),
    webhookSecretSealed: columns.text('webhook_secret_sealed'),
    toldAt: columns.big('told_at').notNull().default(0),
    toldThreshold: columns.big('told_threshold').notNull().default(0),
  }),
});
