import type { Result } from '../kernel/index.ts';
import type { Repositories } from '../store/ports/index.ts';

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
  /** Whether people sign in with a password. */
  passwordLogin: boolean;
  registration: {
    /**
     * Whether anybody can make an account, by whatever method. False as well while a mail check or
     * a challenge is asked for that cannot take place as things are set.
     */
    enabled: boolean;
    /** Whether one can be made with a password. */
    byPassword: boolean;
    /** Whether one needs an address that was confirmed by a mailed code. */
    verifyEmail: boolean;
    /**
     * Quota of a new account, of the owner of its affiliate code, and of it for having come with
     * one.
     */
    quotaForNewUser: number;
    quotaForInviter: number;
    quotaForInvitee: number;
  };
  /** Which addresses people may give. */
  emails: {
    /** Domains in lower case; undefined: any. */
    domains: readonly string[] | undefined;
    /** Refuses `+` and `.` before the @. */
    refuseAliases: boolean;
  };
  /** How mails are sent; undefined: not set up. */
  mail: MailSettings | undefined;
  /**
   * Turnstile; undefined: nobody is asked; `unusable`: people shall be asked and cannot be, so that
   * nobody passes.
   */
  challenge: { siteKey: string; secretKey: string; verifyUrl: string } | 'unusable' | undefined;
  /**
   * Each undefined unless it is switched on and everything that it needs is set. Addresses end
   * without a slash.
   */
  providers: {
    github: (ProviderClient & { baseUrl: string; apiUrl: string }) | undefined;
    discord: (ProviderClient & { baseUrl: string }) | undefined;
    linuxdo: (ProviderClient & { baseUrl: string; minimumTrustLevel: number }) | undefined;
    oidc: OidcSettings | undefined;
    telegram: { botName: string; botToken: string } | undefined;
    wechat: { serverAddress: string; serverToken: string; qrCodeUrl: string } | undefined;
  };
  /** How many tasks a user may submit. */
  modelRequests: ModelRequestNumbers & {
    enabled: boolean;
    windowSeconds: number;
    /** Other numbers for the users or keys of a group. */
    groups: ReadonlyMap<string, ModelRequestNumbers>;
  };
};

type ProviderClient = { clientId: string; clientSecret: string };

type OidcSettings = ProviderClient & {
  /** On the button. */
  displayName: string;
  /** Address of the discovery document. */
  wellKnown: string;
  /** Instead of what the discovery document says; empty: as it says. */
  authorizationEndpoint: string;
  tokenEndpoint: string;
  userInfoEndpoint: string;
};

type MailSettings = {
  host: string;
  port: number;
  /** Empty: no login. */
  account: string;
  password: string;
  /** `gate@example.org` or `Our gate <gate@example.org>`. */
  from: string;
  /**
   * `implicit`: from the first byte; `starttls`: asked for, and nothing is sent without;
   * `opportunistic`: taken where offered.
   */
  tls: 'implicit' | 'starttls' | 'opportunistic';
  /** Takes any certificate. */
  skipVerify: boolean;
  /** AUTH LOGIN even where the server does not offer it. */
  forceAuthLogin: boolean;
};

/** Per user and window. */
type ModelRequestNumbers = {
  /** Requests, failures included; 0: any number. */
  total: number;
  /** Requests that succeeded; at least 1. */
  success: number;
};

/**
 * The same as it is stored at this moment: for a verdict that a copy from a moment ago could spoil.
 */
export type SettingsIn = (tx: Repositories) => Promise<AuthSettings>;

/**
 * What the auth room is told by the configuration. Durations are seconds unless a name says
 * otherwise.
 */
export type AuthConfig = {
  /**
   * `SESSION_SECRET`, then the values of `SESSION_SECRET_PREVIOUS`. Each gives its own keys per
   * purpose; the first signs and digests, the others are only recognised.
   */
  sessionSecrets: readonly [string, ...string[]];
  /**
   * `CRYPTO_SECRET`, then the values of `CRYPTO_SECRET_PREVIOUS`: backup codes are digested under
   * keys of theirs.
   */
  cryptoSecrets: readonly [string, ...string[]];
  /** Absolute life of a session in days (at most 30, as in new-api); no refresh extends it. */
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
  /**
   * `GLOBAL_API_RATE_LIMIT` requests below `/api` per `GLOBAL_API_RATE_LIMIT_DURATION` seconds and
   * address.
   */
  apiLimit: number;
  apiLimitSeconds: number;
  /**
   * Whether a receiver of notices may be called; otherwise the rule that its URL breaks, as a
   * sentence. The tasks room's own judgement.
   */
  checkWebhookUrl: (url: string) => Result<URL, string>;
};
