/** Users, how they sign in, and the keys they give to programs. Times are whole Unix seconds. */
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
  /**
   * argon2id in PHC form; of an imported account bcrypt until its first sign-in; null for one that
   * signs in through a provider only.
   */
  passwordHash: string | null;
  role: Role;
  status: EnabledStatus;
  email: string | null;
  group: string;
  /** The balance: the sum of the user's ledger lines. */
  quota: number;
  usedQuota: number;
  requestCount: number;
  language: string;
  authVersion: number;
  /** Part of every signed artifact link of the user. Links with another version are invalid. */
  linkVersion: number;
  createdAt: number;
  lastLoginAt: number;
};

/** A user as administrators see them. Deleted users are included, with most fields emptied. */
export type AdminUserRecord = UserRecord & {
  /** An administrator's note. */
  remark: string;
  /** The user whose affiliate code they registered with; 0: none. */
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
  /** Unix seconds until which the previous token still yields the same successor. */
  previousValidUntil: number;
  loginMethod: string;
  ip: string;
  /** The key under which rate limits counted the address; empty in rows that predate the column. */
  addressKey: string;
  userAgent: string;
  createdAt: number;
  lastActiveAt: number;
  expiresAt: number;
  revokedAt: number;
  revokedReason: string;
};

/**
 * A replaced webhook secret: sealed, and until when (Unix seconds) it still signs beside the
 * current one.
 */
export type FormerSecret = { sealed: string; until: number };

export type ApiKeyRecord = {
  id: number;
  userId: number;
  name: string;
  /**
   * Plain SHA-256 of the key in hex. The key has 285 random bits, so the digest needs no secret.
   */
  keyHash: string;
  /** `sk-` and the first characters, so that people can tell keys apart. */
  prefix: string;
  /** The digest of the key that the current one replaced; empty: there was none. */
  formerHash: string;
  formerPrefix: string;
  /** Unix seconds until which the replaced key works too; 0: there was none. */
  formerUntil: number;
  status: EnabledStatus;
  unlimitedQuota: boolean;
  /** What is left of the key's own budget; meaningless when the key is unlimited. */
  quota: number;
  usedQuota: number;
  /** Empty: every model. */
  models: string[];
  /** IP addresses or CIDR ranges that may use the key; empty: every address. */
  allowIps: string[];
  /** 0: never. */
  expiresAt: number;
  /** null: the user's group. */
  group: string | null;
  /** Default receiver of webhooks for its tasks; a submission may name another. null: none. */
  webhookUrl: string | null;
  /** The secret that signs them, sealed with CRYPTO_SECRET; null: none was created. */
  webhookSecretSealed: string | null;
  /** Replaced secrets that still sign, the latest first. */
  webhookFormers: FormerSecret[];
  /** Whether results of its tasks are kept, unless a submission says otherwise. */
  keepResults: boolean;
  createdAt: number;
  lastUsedAt: number;
};

/** What requests with the key need of it. */
export type PresentedKey = Omit<
  ApiKeyRecord,
  'keyHash' | 'prefix' | 'formerHash' | 'formerPrefix' | 'formerUntil' | 'webhookFormers' | 'createdAt'
>;

/** What requests with an API key need of its owner. */
export type KeyOwner = Pick<UserRecord, 'id' | 'role' | 'status' | 'group'>;

/** A personal access token as its owner may see it. Only the token's SHA-256 is stored. */
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

/** A temporary authentication flow. A binding that it does not have is empty, or 0. */
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
  /** null: not used yet. A flow can be used once. */
  consumedAt: number | null;
};

/** A user's authenticator app. */
export type TwoFactorRecord = {
  userId: number;
  /** The shared secret in base32, sealed with CRYPTO_SECRET. */
  secretSealed: string;
  /** False: set up but not confirmed yet. */
  enabled: boolean;
  /** The last time step whose code was used. Codes of this step and earlier ones are refused. */
  lastStep: number;
  /** Attempts since the last right code. An attempt is counted before its code is checked. */
  failures: number;
  /** Unix seconds until which every code is refused unchecked; 0: not locked. */
  lockedUntil: number;
  /** When it was enabled; before that, when the set-up began. */
  createdAt: number;
};

export type PasskeyRecord = {
  id: number;
  userId: number;
  /** base64url */
  credentialId: string;
  /** COSE key, base64url. */
  publicKey: string;
  /** The relying party it was created for. It cannot be used under another one. */
  rpId: string;
  name: string;
  /** The authenticator's signature counter. */
  counter: number;
  transports: string[];
  /** Whether it is synchronised between devices or bound to one. */
  backedUp: boolean;
  createdAt: number;
  /** 0: never. */
  lastUsedAt: number;
};

/**
 * Who owns an identity: `subject` at `provider`. The provider is `telegram`, `github`, … or the
 * slug of a custom provider, at most 32 characters; the subject has at most 128. A mail address is
 * an identity too, lower-cased, under the provider `email`.
 */
export type IdentityRecord = { provider: string; subject: string; userId: number; createdAt: number };

/**
 * How the client authenticates to a custom provider: 0 as the endpoint accepts it, 1 in the body, 2
 * with HTTP Basic.
 */
export type OAuthAuthStyle = 0 | 1 | 2;
export const AUTH_STYLE = { auto: 0, body: 1, basic: 2 } as const satisfies Record<string, OAuthAuthStyle>;

/**
 * A custom OAuth2 provider. Endpoints are URLs. The `…Field` members are dotted paths in the
 * response of the user info endpoint.
 */
export type OAuthProviderRecord = {
  id: number;
  /**
   * Its permanent name in paths and identities. At most 26 characters, so that `oauth:<slug>` fits
   * a session's login method.
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
  /** The discovery URL that the endpoints came from; empty: they were entered by hand. */
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
