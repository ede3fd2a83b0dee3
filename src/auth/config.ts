/** What an administrator sets while the gateway runs; asked anew at every use. */
export type AuthSettings = {
  /** Names the gateway in authenticator apps and passkey dialogs. */
  systemName: string;
  /** Where people reach the panel, without a trailing slash; never taken from a request. */
  serverAddress: string;
  passkeys: {
    enabled: boolean;
    /** Empty: `systemName`. */
    rpDisplayName: string;
    /** Empty: the host of `serverAddress`. */
    rpId: string;
    /** Empty: the origin of `serverAddress` alone. */
    origins: readonly string[];
    /** Lets `origins` name plain http addresses other than localhost. */
    allowInsecureOrigin: boolean;
    userVerification: 'required' | 'preferred' | 'discouraged';
    /** Empty: any authenticator. */
    attachment: '' | 'platform' | 'cross-platform';
  };
  /** How many tasks a user may submit. */
  modelRequests: ModelRequestNumbers & {
    enabled: boolean;
    windowSeconds: number;
    /** Other numbers for the users or keys of a group. */
    groups: ReadonlyMap<string, ModelRequestNumbers>;
  };
};

/** Per user and window. */
type ModelRequestNumbers = {
  /** Requests, failures included; 0: any number. */
  total: number;
  /** Requests that succeeded; at least 1. */
  success: number;
};

/** What the auth room is told by the configuration. Durations are seconds unless a name says otherwise. */
export type AuthConfig = {
  /**
   * `SESSION_SECRET`, then the values of `SESSION_SECRET_PREVIOUS`. Each gives its own keys per purpose; the first signs and
   * digests, the others are only recognised.
   */
  sessionSecrets: readonly [string, ...string[]];
  /** `CRYPTO_SECRET`, then the values of `CRYPTO_SECRET_PREVIOUS`: backup codes are digested under keys of theirs. */
  cryptoSecrets: readonly [string, ...string[]];
  /** Absolute life of a session in days (specification: at most 30); no refresh extends it. */
  refreshDays: number;
  /** `USER_SESSION_ACTIVE_LIMIT` */
  activeSessionLimit: number;
  /** `USER_SESSION_ISSUANCE_LIMIT` */
  sessionIssuanceLimit: number;
  /** `USER_SESSION_ISSUANCE_WINDOW_SECONDS`, already clamped to the retention of revoked rows. */
  sessionIssuanceWindowSeconds: number;
  /** `USER_SESSION_IDLE_TIMEOUT_MINUTES` in seconds; 0: sessions never end for want of use. */
  sessionIdleSeconds: number;
  /** `CRITICAL_RATE_LIMIT` requests per `CRITICAL_RATE_LIMIT_DURATION` seconds and address. */
  criticalLimit: number;
  criticalLimitSeconds: number;
  /** `GLOBAL_API_RATE_LIMIT` requests below `/api` per `GLOBAL_API_RATE_LIMIT_DURATION` seconds and address. */
  apiLimit: number;
  apiLimitSeconds: number;
};
