import type { Result, Sentence } from '../kernel/index.ts';
import type { Repositories } from '../store/ports/index.ts';

/** What administrators set while the gateway runs; read again at every use. */
export type AuthSettings = {
  /** Names the gateway in authenticator apps and passkey dialogs. */
  systemName: string;
  /** The panel's public address without a trailing slash; never taken from a request. */
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
  /** The time zone in which the days, weeks and months of budgets begin. */
  timezone: string;
  /** Whether people can sign in with a password. */
  passwordSignIn: boolean;
  registration: {
    /**
     * Whether people can create accounts, by any method. Also false while a mail check or a captcha
     * is required that cannot work under the present settings.
     */
    enabled: boolean;
    /** Whether people can create one with a password. */
    byPassword: boolean;
    /** Whether a new account needs an address confirmed by a mailed code. */
    verifyEmail: boolean;
    quotaForNewUser: number;
    /** For the owner of the affiliate code that a new account used. */
    quotaForInviter: number;
    /** For a new account that used an affiliate code, in addition. */
    quotaForInvitee: number;
  };
  /** The rules for new email addresses. */
  emails: {
    /** Domains in lower case; undefined: any. */
    domains: readonly string[] | undefined;
    /** Refuses `+` and `.` before the @. */
    refuseAliases: boolean;
  };
  /** Warnings of a low balance; `fallback` is for users who chose nothing, 0: none. */
  balanceAlerts: { offered: boolean; fallback: number };
  /** How emails are sent; undefined: not set up. */
  mail: MailSettings | undefined;
  /**
   * The Turnstile captcha. undefined: off; `unusable`: switched on, but its secret key cannot be
   * read, so that nobody passes.
   */
  challenge: { siteKey: string; secretKey: string; verifyUrl: string } | 'unusable' | undefined;
  /**
   * Each is undefined unless it is switched on and complete. Addresses have no trailing slash.
   */
  providers: {
    github: (ProviderClient & { baseUrl: string; apiUrl: string }) | undefined;
    discord: (ProviderClient & { baseUrl: string }) | undefined;
    linuxdo: (ProviderClient & { baseUrl: string; minimumTrustLevel: number }) | undefined;
    oidc: OidcSettings | undefined;
    telegram: { botName: string; botToken: string } | undefined;
    wechat: { serverAddress: string; serverToken: string; qrCodeUrl: string } | undefined;
  };
};

/** The limits of model requests. */
export type ModelRequestSettings = {
  /** The limits within a sliding window; undefined: none. */
  window: WindowLimits | undefined;
  /** Requests of each user of a group within a minute; undefined: no limit. */
  requestsPerMinute: (group: string) => number | undefined;
};

export type WindowLimits = ModelRequestNumbers & {
  seconds: number;
  /** Other numbers for the users or keys of a group. */
  groups: ReadonlyMap<string, ModelRequestNumbers>;
};

type ProviderClient = { clientId: string; clientSecret: string };

type OidcSettings = ProviderClient & {
  /** Shown on the button. */
  displayName: string;
  /** Address of the discovery document. */
  wellKnown: string;
  /** Replace those of the discovery document; empty: as in the document. */
  authorizationEndpoint: string;
  tokenEndpoint: string;
  userInfoEndpoint: string;
};

type MailSettings = {
  host: string;
  port: number;
  /** Empty: no sign-in. */
  account: string;
  password: string;
  /** `gate@example.org` or `Our gate <gate@example.org>`. */
  from: string;
  /**
   * `implicit`: TLS from the first byte; `starttls`: required; `opportunistic`: STARTTLS if the
   * server offers it.
   */
  tls: 'implicit' | 'starttls' | 'opportunistic';
  /** Accepts any certificate. */
  skipVerify: boolean;
  /** Uses AUTH LOGIN even if the server does not offer it. */
  forceAuthLogin: boolean;
  /** What the gateway calls itself in EHLO; absent: the name of this machine. */
  ownName?: string;
};

/** Per user and window. */
type ModelRequestNumbers = {
  /** Requests, failures included; 0: unlimited. */
  total: number;
  /** Requests that succeeded; at least 1. */
  success: number;
};

/** The settings as stored, read in a transaction, for decisions that a stale copy could spoil. */
export type SettingsIn = (tx: Repositories) => Promise<AuthSettings>;

/** The cost of hashing a password: argon2id's memory in KiB, and passes; parallelism is one. */
export type PasswordCost = { memoryCost: number; timeCost: number };

/** The configuration of the auth room. Durations are seconds unless a name says otherwise. */
export type AuthConfig = {
  /**
   * `SESSION_SECRET`, then the values of `SESSION_SECRET_PREVIOUS`. Each yields its own keys per
   * purpose. The first signs and digests; the others only recognise.
   */
  sessionSecrets: readonly [string, ...string[]];
  /**
   * `CRYPTO_SECRET`, then the values of `CRYPTO_SECRET_PREVIOUS`: backup codes are digested under
   * keys derived from them.
   */
  cryptoSecrets: readonly [string, ...string[]];
  /** Absolute lifetime of a session in days (at most 30, as in new-api); no refresh extends it. */
  refreshDays: number;
  /** `USER_SESSION_ACTIVE_LIMIT` */
  activeSessionLimit: number;
  /** `USER_SESSION_ISSUANCE_LIMIT` */
  sessionIssuanceLimit: number;
  /** `USER_SESSION_ISSUANCE_WINDOW_SECONDS`, already clamped to the retention of revoked rows. */
  sessionIssuanceWindowSeconds: number;
  /** `USER_SESSION_IDLE_TIMEOUT_MINUTES` in seconds; 0: no idle timeout. */
  sessionIdleSeconds: number;
  /** `CRITICAL_RATE_LIMIT` requests per `CRITICAL_RATE_LIMIT_DURATION` seconds and address. */
  criticalLimit: number;
  criticalLimitSeconds: number;
  /**
   * `GLOBAL_API_RATE_LIMIT` requests below `/api` per `GLOBAL_API_RATE_LIMIT_DURATION` seconds and
   * address.
   */
  apiLimit: number;
  apiLimitSeconds: number;
  /**
   * Whether a webhook URL may be called. The error is the broken rule, as a sentence. The tasks
   * room provides this check.
   */
  checkWebhookUrl: (url: string) => Result<URL, Sentence>;
  /** Default: what OWASP asks for. */
  passwordCost?: PasswordCost;
};
