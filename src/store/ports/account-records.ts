/**
 * People, how they prove who they are, and what they sign in with. Times are whole Unix seconds.
 */
import type { JsonObject } from '../../kernel/index.ts';

export type Role = 1 | 10 | 100;
export const ROLE = { user: 1, admin: 10, root: 100 } as const satisfies Record<string, Role>;
/**
 * Of users, API keys and channels. API keys are also shown as 3 (expired) and 4 (exhausted), which
 * are computed and never stored.
 */
export type EnabledStatus = 1 | 2;
export const STATUS = { enabled: 1, disabled: 2 } as const satisfies Record<string, EnabledStatus>;

export type UserRecord = {
  id: number;
  username: string;
  displayName: string;
  /** argon2id in PHC form; null for an account that signs in through a provider only. */
  passwordHash: string | null;
  role: Role;
  status: EnabledStatus;
  email: string | null;
  group: string;
  /** What is left: the sum of the user's ledger lines. */
  quota: number;
  usedQuota: number;
  requestCount: number;
  language: string;
  authVersion: number;
  /** Stands in the user's artifact links; those of another version open nothing. */
  linkVersion: number;
  createdAt: number;
  lastLoginAt: number;
};

/** A user as administrators see him; deleted ones too, of whom little is left. */
export type AdminUserRecord = UserRecord & {
  /** An administrator's note. */
  remark: string;
  /** Whose affiliate code he came with; 0: nobody's. */
  inviterId: number;
  hasAccessToken: boolean;
  /** 0: not deleted. */
  deletedAt: number;
};

export type SessionStatus = 'active' | 'revoked';
export type SessionRecord = {
  sid: string;
  userId: number;
  version: number;
  userAuthVersion: number;
  status: SessionStatus;
  /** Hex HMAC-SHA256 of the secret half of the refresh token. */
  refreshHash: string;
  previousRefreshHash: string | null;
  /** Unix seconds until which the previous token still gives the same successor. */
  previousValidUntil: number;
  loginMethod: string;
  ip: string;
  /** The address that limits went by, as they count it; empty in rows from before it was kept. */
  addressKey: string;
  userAgent: string;
  createdAt: number;
  lastActiveAt: number;
  expiresAt: number;
  revokedAt: number;
  revokedReason: string;
};

/** A webhook secret that was replaced: sealed, and until when (Unix seconds) it signs along. */
export type FormerSecret = { sealed: string; until: number };

export type ApiKeyRecord = {
  id: number;
  userId: number;
  name: string;
  /**
   * Plain SHA-256 of the key in hex: the key has 285 random bits, so no secret is needed to protect
   * it.
   */
  keyHash: string;
  /** `sk-` and the first characters, for people to tell keys apart. */
  prefix: string;
  status: EnabledStatus;
  unlimitedQuota: boolean;
  /** What is left of the key's own budget; meaningless when unlimited. */
  quota: number;
  usedQuota: number;
  /** Empty: every model. */
  models: string[];
  /** Addresses or CIDRs; empty: every address. */
  allowIps: string[];
  /** 0: never. */
  expiresAt: number;
  /** null: the user's group. */
  group: string | null;
  /** Where notices of its tasks go unless a submission names another place; null: nowhere. */
  webhookUrl: string | null;
  /** What signs them, sealed with CRYPTO_SECRET; null: none was made. */
  webhookSecretSealed: string | null;
  /** Those before, which sign along for a while; the latest first. */
  webhookFormers: FormerSecret[];
  createdAt: number;
  lastUsedAt: number;
};

/**
 * A personal access token as its owner may see it; the token itself is kept as its SHA-256 alone.
 */
export type AccessTokenRecord = {
  /** `tgp_` and the first characters; empty for a token of an earlier layout. */
  prefix: string;
  /** 0 for a token of an earlier layout. */
  createdAt: number;
};

export type FlowPurpose =
  | 'oauth'
  | '2fa_login'
  | 'passkey_login'
  | 'passkey_register'
  | 'passkey_step_up'
  | 'telegram_bind'
  | 'telegram_assertion'
  | 'wechat_login'
  | 'email_verify'
  | 'email_bind'
  | 'password_reset';

/** A temporary authentication flow. What it is not bound to is empty, or 0. */
export type FlowRecord = {
  /** Hex HMAC-SHA256 of the flow token. */
  tokenHash: string;
  purpose: FlowPurpose;
  provider: string;
  intent: string;
  userId: number;
  sessionId: string;
  payload: JsonObject;
  createdAt: number;
  expiresAt: number;
  /** null: not used yet. A flow is used once. */
  consumedAt: number | null;
};

/** A user's authenticator app. */
export type TwoFactorRecord = {
  userId: number;
  /** The shared secret in base32, sealed with CRYPTO_SECRET. */
  secretSealed: string;
  /** False: set up and not confirmed yet. */
  enabled: boolean;
  /**
   * The last time step whose code was used; no code of this step or an earlier one is taken again.
   */
  lastStep: number;
  /** Attempts since the last right code; counted before the code is looked at. */
  failures: number;
  /** Unix seconds until which no code is looked at; 0: not locked. */
  lockedUntil: number;
  /** When it was enabled; until then, when its set-up began. */
  createdAt: number;
};

export type PasskeyRecord = {
  id: number;
  userId: number;
  /** base64url */
  credentialId: string;
  /** COSE key, base64url. */
  publicKey: string;
  /** The relying party it was made for: under another it cannot be used. */
  rpId: string;
  name: string;
  /** The authenticator's signature counter. */
  counter: number;
  transports: string[];
  /** Synchronised between devices, or bound to one. */
  backedUp: boolean;
  createdAt: number;
  /** 0: never. */
  lastUsedAt: number;
};

/**
 * Who owns an identity: `subject` at `provider`, which is `telegram`, `github`, … or the slug of a
 * custom provider. A mail address is one too, under `email` and lower-cased. At most 32 and 128
 * characters.
 */
export type IdentityRecord = { provider: string; subject: string; userId: number; createdAt: number };

/**
 * How a custom provider wants its client to prove itself: 0 as the endpoint takes it, 1 in the
 * body, 2 by Basic authentication.
 */
export type OAuthAuthStyle = 0 | 1 | 2;
export const AUTH_STYLE = { auto: 0, body: 1, basic: 2 } as const satisfies Record<string, OAuthAuthStyle>;

/**
 * A custom OAuth2 provider. Endpoints are URLs; the fields are dotted paths in the answer of the
 * user info endpoint.
 */
export type OAuthProviderRecord = {
  id: number;
  /**
   * Its name in paths and in identities, for good. At most 26 characters, so that `oauth:<slug>`
   * fits a session's login method.
   */
  slug: string;
  name: string;
  icon: string;
  enabled: boolean;
  clientId: string;
  /** Sealed with CRYPTO_SECRET; empty: none. */
  clientSecretSealed: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  userInfoEndpoint: string;
  /** Where the endpoints were discovered; empty: they were typed in. */
  wellKnown: string;
  /** Separated by spaces. */
  scopes: string;
  userIdField: string;
  usernameField: string;
  displayNameField: string;
  emailField: string;
  authStyle: OAuthAuthStyle;
  /** Who may sign in, as JSON text; empty: everyone. */
  accessPolicy: string;
  accessDeniedMessage: string;
  createdAt: number;
  updatedAt: number;
};
